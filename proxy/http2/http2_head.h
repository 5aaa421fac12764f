// From the fields of a header block to a message head, and back. libnghttp2 has checked the grammar of names,
// values and pseudo-fields (RFC 9113, section 8); what is left is the meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/message.h"
#include "proxy/http/text_arena.h"
#include "proxy/http2/http2_session.h"
#include "proxy/proxy_error.h"

namespace hedge::proxy::http {

// Takes one header block field by field. Lifetime: `texts` outlives what the fields are used for.
class Http2FieldCollector {
 public:
  Http2FieldCollector(std::vector<Field>& fields, TextArena& texts) : fields_(fields), texts_(texts) {}

  // Copies both. Over a limit nothing more is kept but the name of the largest field.
  void add(std::string_view name, std::string_view value);
  void add_bad_field() noexcept { malformed_ = true; }

  bool malformed() const noexcept { return malformed_; }
  // Of all fields, kept or not.
  std::size_t bytes() const noexcept { return bytes_; }
  bool too_large() const noexcept { return bytes_ > kMaxFieldBytes || count_ > kMaxFields; }
  // Why: "the header is larger than 64 KiB; its largest field is 'cookie' (70000 bytes)".
  std::string describe_excess() const;

  // Pseudo-fields; empty where there was none.
  std::string_view method;
  std::string_view scheme;
  std::string_view authority;
  std::string_view path;
  std::string_view protocol;
  std::string_view status;

 private:
  void add_pseudo(std::string_view name, std::string_view value);

  std::vector<Field>& fields_;
  TextArena& texts_;
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
  std::size_t cookie_bytes_ = 0;
  std::size_t largest_bytes_ = 0;
  std::string_view largest_name_;
  bool malformed_ = false;
};

// After the whole block; `out.fields` are the collected ones. `last`: no body follows. An extended CONNECT
// (RFC 8441) becomes a GET with `out.upgrade`.
// Errors: bad_request, uri_too_long, headers_too_large.
std::optional<ProxyError> finish_request_head(const Http2FieldCollector& block, bool last, TextArena& texts,
                                              RequestHead& out);

// The same for a response; `head_request`: it answers a HEAD. Errors: upstream_bad_response.
std::optional<ProxyError> finish_response_head(const Http2FieldCollector& block, bool last, bool head_request,
                                               ResponseHead& out);

// Leaves out what may not stand in trailers (RFC 9110, section 6.5.1).
void finish_trailers(std::vector<Field>& trailers);

// Field lists to send. The names come out in lower case; what concerns one connection is left out.
// Lifetime: they refer to the head and to `texts`.
void make_response_fields(const ResponseHead& head, TextArena& texts, std::vector<Http2Field>& out);
void make_request_fields(const RequestHead& head, std::string_view scheme, TextArena& texts,
                         std::vector<Http2Field>& out);
void make_trailer_fields(const std::vector<Field>& trailers, TextArena& texts, std::vector<Http2Field>& out);

}  // namespace hedge::proxy::http
