// What a request and a response look like between the protocols: views over the bytes they were received in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hedge::proxy::http {

// Limits of a message head. Over the first: 414; over the second: 431 naming the largest field (502 for a
// response).
inline constexpr std::size_t kMaxStartLineBytes = 16U << 10;
inline constexpr std::size_t kMaxFieldBytes = 64U << 10;
// Over it: 431 (502). No program sends as many; each costs more than its bytes.
inline constexpr std::size_t kMaxFields = 1000;
// Elements of the Connection field: each is compared with every field's name. Over it: 400 (502).
inline constexpr std::size_t kMaxConnectionOptions = 64;

// The fields that the edge treats specially; every other one is `other` and passes as it is.
enum class FieldId : std::uint8_t {
  other,
  accept,
  alt_svc,
  connection,
  content_length,
  expect,
  forwarded,
  host,
  keep_alive,
  proxy,  // Proxy and Proxy-*: never forwarded
  set_cookie,
  strict_transport_security,
  te,
  trailer,
  transfer_encoding,
  upgrade,
  via,
  x_forwarded,  // X-Forwarded-For, -Proto, -Host, -Port
  x_request_id,
  hedge,  // Hedge-Error, Hedge-Cookie: ours alone to send
};

struct Field {
  std::string_view name;   // as received
  std::string_view value;  // without white space at both ends
  FieldId id = FieldId::other;
  bool omit = false;  // not sent on: named by the Connection field, or taken out by a rule of ours
};

enum class Version : std::uint8_t { http10, http11 };

// How the end of a body is told. `until_close` exists only in responses.
enum class Framing : std::uint8_t { none, length, chunked, until_close };

struct BodyShape {
  Framing framing = Framing::none;
  std::uint64_t length = 0;  // with Framing::length
};

// What the Connection field says.
struct ConnectionOptions {
  bool close = false;
  bool keep_alive = false;
  bool upgrade = false;
};

// Lifetime: every view is into the buffer that the head was parsed from.
struct RequestHead {
  std::string_view method;
  // Origin-form or `*`, byte for byte what the client sent after the authority. May be empty or begin with
  // `?` when the client sent an absolute-form target without a path; then `target_prefix` is "/".
  std::string_view target;
  std::string_view target_prefix;
  std::string_view authority;  // of the absolute-form target where there is one, else the Host field
  Version version = Version::http11;
  ConnectionOptions connection;
  BodyShape body;
  bool expects_continue = false;
  bool accepts_trailers = false;  // TE: trailers
  std::string_view upgrade;       // the Upgrade field, if Connection lists it; else empty
  std::vector<Field> fields;      // keeps its capacity from message to message

  void clear();
  // The first value of that field, or empty.
  std::string_view first(FieldId id) const;
};

struct ResponseHead {
  unsigned status = 0;
  std::string_view reason;
  Version version = Version::http11;
  ConnectionOptions connection;
  BodyShape body;  // depends on the request's method, too
  // What the Content-Length fields say, also where there is no body (to HEAD, or a 304).
  std::optional<std::uint64_t> content_length;
  std::vector<Field> fields;

  void clear();
  std::string_view first(FieldId id) const;
};

// 1xx other than 101: another head follows.
constexpr bool is_interim(unsigned status) {
  return status >= 100 && status < 200 && status != 101;
}
// RFC 9110, sections 15.2, 15.3.5, 15.4.5: never a body, whatever the fields say.
constexpr bool is_bodyless(unsigned status) {
  return status < 200 || status == 204 || status == 304;
}

// RFC 9110, section 9.2.2.
bool is_idempotent(std::string_view method);

// Calls `visit` with each element of a comma-separated list, without white space around it; empty elements
// are left out.
template <class Visit>
void for_each_list_element(std::string_view list, Visit&& visit) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view element = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (!element.empty() && (element.front() == ' ' || element.front() == '\t')) element.remove_prefix(1);
    while (!element.empty() && (element.back() == ' ' || element.back() == '\t')) element.remove_suffix(1);
    if (!element.empty()) visit(element);
  }
}

}  // namespace hedge::proxy::http
