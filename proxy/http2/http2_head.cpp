#include "proxy/http2/http2_head.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "proxy/http/field_id.h"
#include "proxy/http/framing.h"
#include "proxy/http/trailers.h"

namespace hedge::proxy::http {
namespace {

// What a field costs besides its texts on an HTTP/1 wire, so that both protocols have the same limit.
constexpr std::size_t kFieldOverhead = 4;

ProxyError bad(std::string_view detail) {
  return ProxyError{ProxyReason::bad_request, std::string(detail), {}};
}

bool is_cookie(std::string_view name) {
  return name == "cookie";
}

// RFC 9113, section 8.2.3: what was one field may come in pieces, and HTTP/1 servers read only one.
void join_cookies(std::vector<Field>& fields, TextArena& texts) {
  std::size_t crumbs = 0;
  std::size_t bytes = 0;
  for (const Field& field : fields) {
    if (!is_cookie(field.name)) continue;
    ++crumbs;
    bytes += field.value.size() + 2;
  }
  if (crumbs < 2) return;
  const std::span<char> joined = texts.allocate(bytes - 2);
  std::size_t used = 0;
  Field* first = nullptr;
  for (Field& field : fields) {
    if (!is_cookie(field.name)) continue;
    if (first != nullptr) {
      std::memcpy(joined.data() + used, "; ", 2);
      used += 2;
      field.omit = true;
    } else {
      first = &field;
    }
    if (!field.value.empty()) std::memcpy(joined.data() + used, field.value.data(), field.value.size());
    used += field.value.size();
  }
  first->value = {joined.data(), joined.size()};
}

// Methods whose requests say how long their content is even where there is none (RFC 9110, section 8.6).
bool announces_no_content(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

BodyShape request_shape(std::string_view method, const FramingFields& framing, bool last) {
  if (last)
    return BodyShape{announces_no_content(method) || framing.length() ? Framing::length : Framing::none, 0};
  if (framing.length()) return BodyShape{Framing::length, *framing.length()};
  return BodyShape{Framing::chunked, 0};
}

std::optional<ProxyError> check_target(const Http2FieldCollector& block) {
  if (block.path.size() > kMaxStartLineBytes)
    return ProxyError{ProxyReason::uri_too_long, "the path is longer than 16 KiB", {}};
  if (block.method == "CONNECT" && block.protocol.empty())
    return bad("CONNECT is for forward proxies; this edge serves its own hosts");
  if (!block.protocol.empty() && !equals_ignoring_case(block.protocol, "websocket"))
    return bad("the only protocol that can be opened on a stream is websocket, not \"" +
               printable(block.protocol, 50) + "\"");
  if (block.path.starts_with('/') || (block.path == "*" && block.method == "OPTIONS")) return std::nullopt;
  return bad("the path does not begin with a slash");
}

// Host is allowed beside :authority only if it says the same.
std::optional<ProxyError> choose_authority(const Http2FieldCollector& block, RequestHead& out) {
  std::string_view host;
  for (const Field& field : out.fields) {
    if (field.id != FieldId::host) continue;
    if (!host.empty()) return bad("there is more than one host field");
    host = field.value;
  }
  if (!block.authority.empty() && !host.empty() && !equals_ignoring_case(block.authority, host))
    return bad("the host field and :authority differ");
  out.authority = block.authority.empty() ? host : block.authority;
  if (out.authority.empty()) return bad("there is neither :authority nor a host field");
  return std::nullopt;
}

// HTTP/2 has a pseudo-header for the host.
bool stays_here(const Field& field) {
  return field.omit || field.id == FieldId::host || is_made_anew(field.id);
}

std::string_view lower(std::string_view name, TextArena& texts) {
  const bool is_lower = std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_lower ? name : texts.store_lower(name);
}

void append_fields(const std::vector<Field>& fields, TextArena& texts, std::vector<Http2Field>& out) {
  for (const Field& field : fields) {
    if (!stays_here(field)) out.push_back({lower(field.name, texts), field.value});
  }
}

std::string_view number_text(std::uint64_t number, TextArena& texts) {
  char digits[20];
  const auto written = std::to_chars(digits, digits + sizeof digits, number);
  return texts.store({digits, static_cast<std::size_t>(written.ptr - digits)});
}

}  // namespace

void Http2FieldCollector::add(std::string_view name, std::string_view value) {
  const std::size_t bytes = name.size() + value.size() + kFieldOverhead;
  bytes_ += bytes;
  ++count_;
  const bool is_largest = bytes > largest_bytes_;
  if (is_largest) largest_bytes_ = bytes;
  if (is_cookie(name)) cookie_bytes_ += bytes;
  if (too_large()) {
    if (is_largest) largest_name_ = texts_.store(name.substr(0, 100));
    return;
  }
  if (name.starts_with(':')) return add_pseudo(name, value);
  const std::string_view kept = texts_.store(name);
  if (is_largest) largest_name_ = kept;
  fields_.push_back(Field{kept, texts_.store(value), identify_field(name), false});
}

void Http2FieldCollector::add_pseudo(std::string_view name, std::string_view value) {
  const std::string_view kept = texts_.store(value);
  if (name == ":path") {
    path = kept;
  } else if (name == ":method") {
    method = kept;
  } else if (name == ":authority") {
    authority = kept;
  } else if (name == ":scheme") {
    scheme = kept;
  } else if (name == ":status") {
    status = kept;
  } else if (name == ":protocol") {
    protocol = kept;
  }
}

std::string Http2FieldCollector::describe_excess() const {
  if (bytes_ <= kMaxFieldBytes) return "the header has more than " + std::to_string(kMaxFields) + " fields";
  // The crumbs of a cookie are one field.
  const bool is_cookie_largest = cookie_bytes_ > largest_bytes_;
  const std::string_view name = is_cookie_largest ? "cookie" : largest_name_;
  return "the header is larger than 64 KiB; its largest field is '" + printable(name, 100) + "' (" +
         std::to_string(std::max(cookie_bytes_, largest_bytes_)) + " bytes)";
}

std::optional<ProxyError> finish_request_head(const Http2FieldCollector& block, bool last, TextArena& texts,
                                              RequestHead& out) {
  out.version = Version::http2;
  if (block.too_large()) return ProxyError{ProxyReason::headers_too_large, block.describe_excess(), {}};
  out.method = block.method;
  out.target = block.path;
  if (auto wrong = check_target(block)) return wrong;
  if (auto wrong = choose_authority(block, out)) return wrong;
  FramingFields framing;
  for (const Field& field : out.fields) {
    switch (field.id) {
      case FieldId::content_length:
        framing.add_content_length(field.value);
        break;
      case FieldId::expect:
        out.expects_continue = equals_ignoring_case(field.value, "100-continue");
        break;
      case FieldId::te:
        out.accepts_trailers = true;  // the only value that HTTP/2 allows
        break;
      default:
        break;
    }
  }
  join_cookies(out.fields, texts);
  if (!block.protocol.empty()) {
    out.method = "GET";
    out.upgrade = "websocket";
    out.connection.upgrade = true;
  } else {
    out.body = request_shape(out.method, framing, last);
  }
  return std::nullopt;
}

std::optional<ProxyError> finish_response_head(const Http2FieldCollector& block, bool last, bool head_request,
                                               ResponseHead& out) {
  out.version = Version::http2;
  const auto status = parse_number<unsigned>(block.status);
  if (!status || *status < 100 || *status > 599)
    return ProxyError{ProxyReason::upstream_bad_response, "the status is not between 100 and 599", {}};
  if (block.too_large())
    return ProxyError{ProxyReason::upstream_bad_response, "the response's header is too large", {}};
  out.status = *status;
  FramingFields framing;
  for (const Field& field : out.fields) {
    if (field.id == FieldId::content_length) framing.add_content_length(field.value);
  }
  out.content_length = framing.length();
  if (head_request || is_bodyless(out.status)) {
    out.body = BodyShape();
  } else if (last || framing.length()) {
    out.body = BodyShape{Framing::length, last ? 0 : *framing.length()};
  } else {
    out.body = BodyShape{Framing::chunked, 0};
  }
  return std::nullopt;
}

void finish_trailers(std::vector<Field>& trailers) {
  std::erase_if(trailers, [](const Field& field) { return !may_trail(field); });
}

void make_response_fields(const ResponseHead& head, TextArena& texts, std::vector<Http2Field>& out) {
  out.clear();
  out.push_back({":status", number_text(head.status, texts)});
  append_fields(head.fields, texts, out);
  // RFC 9110, section 8.6.
  if (head.status < 200 || head.status == 204) return;
  std::optional<std::uint64_t> length = head.content_length;
  // An upstream that ended with its head may not have told a length of zero (gRPC's trailers-only answer).
  if (head.body.framing == Framing::length && (head.body.length > 0 || head.version != Version::http2))
    length = head.body.length;
  if (length && head.body.framing != Framing::chunked)
    out.push_back({"content-length", number_text(*length, texts)});
}

void make_request_fields(const RequestHead& head, std::string_view scheme, TextArena& texts,
                         std::vector<Http2Field>& out) {
  out.clear();
  std::string_view path = head.target;
  if (!head.target_prefix.empty()) {
    const std::span<char> whole = texts.allocate(head.target_prefix.size() + head.target.size());
    std::memcpy(whole.data(), head.target_prefix.data(), head.target_prefix.size());
    if (!head.target.empty())
      std::memcpy(whole.data() + head.target_prefix.size(), head.target.data(), head.target.size());
    path = {whole.data(), whole.size()};
  }
  out.push_back({":method", head.method});
  out.push_back({":scheme", scheme});
  out.push_back({":authority", head.authority});
  out.push_back({":path", path});
  append_fields(head.fields, texts, out);
  if (head.accepts_trailers) out.push_back({"te", "trailers"});
  if (head.body.framing == Framing::length)
    out.push_back({"content-length", number_text(head.body.length, texts)});
}

void make_trailer_fields(const std::vector<Field>& trailers, TextArena& texts, std::vector<Http2Field>& out) {
  out.clear();
  append_fields(trailers, texts, out);
}

}  // namespace hedge::proxy::http
