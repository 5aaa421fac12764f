#include "tests/proxy/http/wire_decoder.h"

#include <utility>
#include <vector>

#include "proxy/http/http1_codec.h"
#include "proxy/http/trailers.h"

namespace hedge::proxy::http {
namespace {

std::string describe(BodyShape shape) {
  switch (shape.framing) {
    case Framing::none:
      return "none";
    case Framing::length:
      return "length=" + std::to_string(shape.length);
    case Framing::chunked:
      return "chunked";
    case Framing::until_close:
      return "until_close";
  }
  return "?";
}

}  // namespace

void WireDecoder::feed(std::string_view bytes) {
  unread_.append(bytes);
  while (!refused_ && step()) {
  }
}

void WireDecoder::finish() {
  if (refused_) return;
  if (in_body_ && body_.finish_at_end_of_stream()) return end_message();
  if (in_body_ || !unread_.empty()) event("cut short");
}

bool WireDecoder::step() {
  return in_body_ ? step_body() : step_head();
}

bool WireDecoder::step_head() {
  if (kind_ == MessageKind::request && !scanner_.in_fields()) {
    const std::size_t empty_lines = count_leading_empty_lines(unread_);
    unread_.erase(0, empty_lines);
    if (empty_lines > 0) scanner_.reset();
  }
  switch (scanner_.scan(unread_)) {
    case HeadScanner::State::need_more:
      return false;
    case HeadScanner::State::failed:
      refuse(scanner_.error().id());
      return false;
    case HeadScanner::State::complete:
      break;
  }
  const std::string head = unread_.substr(0, scanner_.head_bytes());
  scanner_.reset();
  if (kind_ == MessageKind::request) {
    if (const auto wrong = parse_request_head(head, request_)) {
      refuse(wrong->id());
      return false;
    }
    begin_body(request_.body, std::string(request_.method) + " " + std::string(request_.target_prefix) +
                                  std::string(request_.target) + " host=" + std::string(request_.authority));
  } else {
    if (const auto wrong = parse_response_head(head, head_request_, response_)) {
      refuse(wrong->id());
      return false;
    }
    begin_body(response_.body, std::to_string(response_.status));
  }
  unread_.erase(0, head.size());
  if (!in_body_) end_message();
  return true;
}

void WireDecoder::begin_body(BodyShape shape, std::string line) {
  event(line + " " + describe(shape));
  body_.start(shape);
  in_body_ = !body_.done();
}

bool WireDecoder::step_body() {
  if (unread_.empty()) return false;
  const BodyDecoder::Decoded decoded = body_.decode(unread_);
  payload_.append(decoded.payload.data(), decoded.payload.size());
  unread_.erase(0, decoded.consumed);
  if (decoded.state == BodyDecoder::State::failed) {
    refuse("body");
    return false;
  }
  if (body_.done()) end_message();
  return true;
}

void WireDecoder::end_message() {
  if (!payload_.empty()) event("body " + std::exchange(payload_, {}));
  std::vector<Field> trailers;
  if (in_body_ && !parse_trailers(body_.trailer_section(), trailers)) return refuse("trailers");
  for (const Field& field : trailers)
    event("trailer " + std::string(field.name) + "=" + std::string(field.value));
  in_body_ = false;
  event("end");
}

void WireDecoder::refuse(std::string_view id) {
  payload_.clear();
  refused_ = true;
  event("refused " + std::string(id));
}

void WireDecoder::event(std::string_view text) {
  events_.append(text).append("\n");
}

std::string decode_whole(MessageKind kind, std::string_view wire, bool head_request) {
  return decode_cut(kind, wire, wire.size(), head_request);
}

std::string decode_cut(MessageKind kind, std::string_view wire, std::size_t cut, bool head_request) {
  WireDecoder decoder(kind, head_request);
  decoder.feed(wire.substr(0, cut));
  decoder.feed(wire.substr(cut));
  decoder.finish();
  return decoder.events();
}

std::string decode_byte_by_byte(MessageKind kind, std::string_view wire, bool head_request) {
  WireDecoder decoder(kind, head_request);
  for (const char& byte : wire) decoder.feed(std::string_view(&byte, 1));
  decoder.finish();
  return decoder.events();
}

}  // namespace hedge::proxy::http
