// The request target of RFC 9112, section 3.2: reduced to origin-form, its authority kept apart.
#pragma once

#include <optional>
#include <string_view>

#include "proxy/proxy_error.h"

namespace hedge::proxy::http {

struct RequestTarget {
  std::string_view target;     // what goes to the upstream, after `prefix`
  std::string_view prefix;     // "/" or "*" where an absolute-form target had no path, else empty
  std::string_view authority;  // of the absolute form, else empty
};

// A target never selects an upstream by its path: "//x" is a path. Errors: another scheme than http(s), user
// information, CONNECT's authority form, anything that doesn't begin with a slash.
std::optional<ProxyError> parse_request_target(std::string_view method, std::string_view text,
                                               RequestTarget& out);

}  // namespace hedge::proxy::http
