// HTTP/1 heads: bytes in, a message out. Boost.Beast's parser does the grammar; the strict rules on top are
// ours. No I/O and no allocation in steady state.
#pragma once

#include <optional>
#include <string_view>

#include "proxy/http/message.h"
#include "proxy/proxy_error.h"

namespace hedge::proxy::http {

// `head`: exactly one head, as HeadScanner found it. On success `out` refers into `head`.
// Errors: bad_request, coding_unsupported.
std::optional<ProxyError> parse_request_head(std::string_view head, RequestHead& out);

// `head_request`: it answers a HEAD. Errors: upstream_bad_response.
std::optional<ProxyError> parse_response_head(std::string_view head, bool head_request, ResponseHead& out);

}  // namespace hedge::proxy::http
