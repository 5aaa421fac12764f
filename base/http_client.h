// A small blocking HTTP/1.1 client for the control socket, the Docker Engine and readiness probes.
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
using HttpAddress = std::variant<UnixAddress, TcpAddress>;

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
// Errors: not_found (no such socket), permission, unavailable (refused), timed_out, closed, invalid_input, io.
Result<HttpResponse> http_fetch(const HttpAddress& address, const HttpRequest& request, std::chrono::milliseconds limit,
                                std::uint64_t max_body_bytes = 16U << 20);

}  // namespace hedge
