// Percent encoding of one component of a request target (RFC 3986, 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hedge::proxy {

// Everything but unreserved characters is escaped.
std::string percent_encode(std::string_view text);
// Absent: a `%` without two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace hedge::proxy
