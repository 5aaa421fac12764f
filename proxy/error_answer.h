// Sends what error_page renders, as the response of an exchange.
#pragma once

#include "base/task.h"
#include "proxy/error_page.h"
#include "proxy/http/exchange.h"
#include "proxy/http/request_state.h"

namespace hedge::proxy {

// By the request's Accept field: a page or problem+json. Requires: no response was started.
Task<bool> answer_with_error(http::Exchange& exchange, http::RequestState& state, const ErrorReport& report);

// Sends a plain request on a TLS port to https: 307, because ports change and a 308 stays in browsers for
// ever. Requires: the authority is well-formed.
Task<bool> answer_with_https_redirect(http::Exchange& exchange, http::RequestState& state,
                                      std::string_view host, std::uint16_t https_port);

}  // namespace hedge::proxy
