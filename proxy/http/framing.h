// How long a message body is, decided strictly: two readers of one message must never disagree (request
// smuggling).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proxy/http/message.h"
#include "proxy/proxy_error.h"

namespace hedge::proxy::http {

// What the Content-Length and Transfer-Encoding fields of one message say, collected field by field.
class FramingFields {
 public:
  void add_content_length(std::string_view value);
  void add_transfer_encoding(std::string_view value);

  // RFC 9112, section 6.3, without its leniencies: both fields, differing lengths, anything but `chunked`
  // alone.
  std::optional<ProxyError> request_shape(Version version, BodyShape& shape) const;
  // `head_request`: the request's method was HEAD. Errors are upstream_bad_response.
  std::optional<ProxyError> response_shape(unsigned status, bool head_request, BodyShape& shape) const;
  // Absent: none was given, or none that is a number.
  std::optional<std::uint64_t> length() const noexcept { return length_; }

 private:
  std::optional<ProxyError> check() const;

  std::optional<std::uint64_t> length_;
  bool bad_length_ = false;
  bool differing_lengths_ = false;
  int transfer_encodings_ = 0;
  bool chunked_ = false;         // the one Transfer-Encoding is `chunked` and nothing else
  bool unknown_coding_ = false;  // a coding that we don't have, as opposed to a wrong arrangement
};

}  // namespace hedge::proxy::http
