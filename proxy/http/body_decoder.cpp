#include "proxy/http/body_decoder.h"

#include <algorithm>

namespace hedge::proxy::http {

void BodyDecoder::start(BodyShape shape) {
  shape_ = shape;
  remaining_ = shape.length;
  done_ = shape.framing == Framing::none || (shape.framing == Framing::length && shape.length == 0);
  chunks_.reset();
}

BodyDecoder::Decoded BodyDecoder::decode(std::span<char> bytes) {
  if (shape_.framing == Framing::chunked) {
    const Decoded decoded = chunks_.decode(bytes);
    done_ = decoded.state == State::done;
    return decoded;
  }
  Decoded decoded;
  if (shape_.framing == Framing::until_close) {
    decoded.consumed = bytes.size();
    decoded.payload = bytes;
    return decoded;
  }
  decoded.consumed = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
  decoded.payload = bytes.first(decoded.consumed);
  remaining_ -= decoded.consumed;
  done_ = remaining_ == 0;
  if (done_) decoded.state = State::done;
  return decoded;
}

void BodyDecoder::skip_raw(std::uint64_t bytes) {
  remaining_ -= bytes;
  if (remaining_ == 0) done_ = true;
}

bool BodyDecoder::finish_at_end_of_stream() {
  if (shape_.framing == Framing::until_close) done_ = true;
  return done_;
}

}  // namespace hedge::proxy::http
