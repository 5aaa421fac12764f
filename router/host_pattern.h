// Hostnames as routes and requests spell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hedge::router {

// A hostname for a route: LDH labels of 1 to 63 bytes, at most 253 in all, lower-cased, one trailing dot
// dropped.
// Errors: invalid_input `host_invalid`, with the position.
Result<std::string> canonical_host(std::string_view text);

// The Host header or :authority of a request, taken apart without allocation.
struct Authority {
  std::string_view host;              // as received, without port and trailing dot; IPv6 keeps its brackets
  std::optional<std::uint16_t> port;  // absent if none was given
  bool is_ip_literal = false;         // never a route, but not malformed either
};
// Absent: malformed (empty, two trailing dots, a port over 65535, spaces, controls, an unclosed bracket):
// answer 400.
std::optional<Authority> parse_authority(std::string_view text);

}  // namespace hedge::router
