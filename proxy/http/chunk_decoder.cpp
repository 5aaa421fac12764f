#include "proxy/http/chunk_decoder.h"

#include <algorithm>
#include <cstring>

namespace hedge::proxy::http {
namespace {

constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
// 15 digits stay below 2^60: no arithmetic further on can overflow.
constexpr int kMaxSizeDigits = 15;

}  // namespace

ChunkDecoder::Decoded ChunkDecoder::decode(std::span<char> bytes) {
  char* const begin = bytes.data();
  char* const end = begin + bytes.size();
  char* at = begin;
  char* payload = nullptr;
  char* payload_end = nullptr;
  while (at != end && step_ != Step::done && step_ != Step::failed) {
    if (step_ != Step::data) {
      step(*at++);
      continue;
    }
    const auto take =
        static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, static_cast<std::uint64_t>(end - at)));
    if (payload == nullptr) payload = payload_end = at;
    if (payload_end != at) std::memmove(payload_end, at, take);
    payload_end += take;
    at += take;
    remaining_ -= take;
    if (remaining_ == 0) step_ = Step::data_cr;
  }
  Decoded out;
  out.state = step_ == Step::done ? State::done : step_ == Step::failed ? State::failed : State::need_more;
  out.consumed = static_cast<std::size_t>(at - begin);
  if (payload != nullptr) out.payload = {payload, payload_end};
  return out;
}

void ChunkDecoder::step(char c) {
  switch (step_) {
    case Step::size:
      size_digit(c);
      return;
    case Step::extension:
      if (c == '\r') {
        step_ = Step::size_lf;
      } else if (c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == '\x7f')) {
        fail("a chunk extension has a control character");
      } else if (++extension_bytes_ > kMaxExtensionBytes) {
        fail("a chunk extension is too long");
      }
      return;
    case Step::size_lf:
      if (c != '\n') return fail("a chunk size line does not end in CRLF");
      step_ = remaining_ == 0 ? Step::trailer : Step::data;
      return;
    case Step::data_cr:
      if (c != '\r') return fail("a chunk is longer than its size");
      step_ = Step::data_lf;
      return;
    case Step::data_lf:
      if (c != '\n') return fail("a chunk does not end in CRLF");
      step_ = Step::size;
      digits_ = 0;
      extension_bytes_ = 0;
      return;
    case Step::trailer:
      trailer_byte(c);
      return;
    case Step::data:
    case Step::done:
    case Step::failed:
      return;
  }
}

void ChunkDecoder::size_digit(char c) {
  const int digit = hex_value(c);
  if (digit >= 0) {
    if (++digits_ > kMaxSizeDigits) return fail("a chunk size is too large");
    remaining_ = remaining_ * 16 + static_cast<std::uint64_t>(digit);
    return;
  }
  if (digits_ == 0) return fail("a chunk size is not a hexadecimal number");
  if (c == '\r') {
    step_ = Step::size_lf;
  } else if (c == ';') {
    step_ = Step::extension;
  } else {
    fail("a chunk size is followed by something else than ';' or CRLF");
  }
}

// Keeps the lines and ends at the empty one. Only the line discipline is checked here.
void ChunkDecoder::trailer_byte(char c) {
  const bool after_cr = !trailers_.empty() && trailers_.back() == '\r';
  if (after_cr != (c == '\n')) return fail("a trailer line does not end in CRLF");
  trailers_.push_back(c);
  if (trailers_.size() > kMaxTrailerBytes) return fail("the trailers are larger than 64 KiB");
  if (c == '\n' && (trailers_.size() == 2 || trailers_.ends_with("\r\n\r\n"))) {
    trailers_.resize(trailers_.size() - 2);
    step_ = Step::done;
  }
}

void ChunkDecoder::fail(std::string_view why) {
  error_ = why;
  step_ = Step::failed;
}

void ChunkDecoder::reset() {
  step_ = Step::size;
  digits_ = 0;
  extension_bytes_ = 0;
  remaining_ = 0;
  error_ = {};
  trailers_.clear();
}

}  // namespace hedge::proxy::http
