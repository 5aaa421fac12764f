// A small blocking HTTP/1.1 client for the control socket, the Docker Engine, readiness probes and one's own edge.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace hedge {

struct UnixAddress {
  std::filesystem::path path;  // at most 107 bytes; longer is invalid_input
};
struct TcpAddress {
  std::string host;  // an IP literal or a name that the system resolver knows
  std::uint16_t port = 0;
};
// TLS of at least version 1.2. The server must prove to be `name` with a certificate below `root` or below one of the system's.
struct TlsAddress {
  TcpAddress server;
  std::string name;            // a hostname: what is asked for (SNI) and verified
  std::filesystem::path root;  // PEM; empty or absent: the system's roots alone
};
using HttpAddress = std::variant<UnixAddress, TcpAddress, TlsAddress>;

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";
  std::string host = "localhost";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // with a content type in `headers`, if not empty
};

struct HttpResponse {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // Empty if absent; the first one if repeated. Case-insensitive.
  std::string_view header(std::string_view name) const;
};

// One request on a connection of its own. `limit` bounds everything from connect to the last byte, except that a host
// *name* is resolved by the system within the system's own limits; an IP literal needs none of that. The answer's body
// is at most `max_body_bytes`.
// Errors: not_found (no such socket), permission, unavailable (refused), timed_out, closed, invalid_input, io. TLS: io
// `name_unrecognized` (the server has no certificate of that name), `ca_suffix_missing` (the root may not vouch for it) and
// `certificate_unverified`.
Result<HttpResponse> http_fetch(const HttpAddress& address, const HttpRequest& request, std::chrono::milliseconds limit,
                                std::uint64_t max_body_bytes = 16U << 20);

}  // namespace hedge
