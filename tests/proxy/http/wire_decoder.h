// Drives the codecs the way the server and the client do, and writes down what they say: one line an event.
#pragma once

#include <string>
#include <string_view>

#include "proxy/http/body_decoder.h"
#include "proxy/http/head_scanner.h"
#include "proxy/http/message.h"

namespace hedge::proxy::http {

class WireDecoder {
 public:
  // `head_request`: the responses answer HEAD requests.
  explicit WireDecoder(MessageKind kind, bool head_request = false)
      : kind_(kind), head_request_(head_request), scanner_(kind) {}

  void feed(std::string_view bytes);
  // The peer ends its stream.
  void finish();

  // "GET /x host=a length=5", "200 chunked", "body hello", "trailer x=1", "end", "refused <id>", "cut short".
  // Neighbouring pieces of a body are one event, however they came.
  const std::string& events() const { return events_; }
  bool refused() const { return refused_; }
  const RequestHead& request() const { return request_; }

 private:
  bool step();
  bool step_head();
  bool step_body();
  void refuse(std::string_view id);
  void begin_body(BodyShape shape, std::string line);
  void end_message();
  void event(std::string_view text);

  MessageKind kind_;
  bool head_request_;
  HeadScanner scanner_;
  RequestHead request_;
  ResponseHead response_;
  BodyDecoder body_;
  std::string unread_;
  std::string payload_;
  std::string events_;
  bool in_body_ = false;
  bool refused_ = false;
};

// The whole text at once.
std::string decode_whole(MessageKind kind, std::string_view wire, bool head_request = false);
// In pieces that end at `cut` and at the end.
std::string decode_cut(MessageKind kind, std::string_view wire, std::size_t cut, bool head_request = false);
std::string decode_byte_by_byte(MessageKind kind, std::string_view wire, bool head_request = false);

}  // namespace hedge::proxy::http
