// What the edge changes in an upstream's response, so that one worktree cannot bind its siblings' browsers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proxy/forwarded_headers.h"
#include "proxy/http/message.h"

namespace hedge::proxy {

struct ResponseRules {
  std::string_view route_host;
  bool narrow_cookies = true;
};

// Drops Alt-Svc and Hedge-*, strips includeSubDomains and preload from HSTS on development hosts, narrows
// cookies and says so in Hedge-Cookie. Lifetime: changed fields refer to `texts`.
void prepare_response_fields(http::ResponseHead& response, const ResponseRules& rules, ScratchTexts& texts);

// A name that never leaves the developer's machine or network: .localhost, .test, .internal, .local,
// .home.arpa and below.
bool is_development_host(std::string_view host);

// `Keep-Alive: timeout=N` in seconds; absent if it isn't there.
std::optional<std::uint64_t> keep_alive_seconds(const http::ResponseHead& response);

}  // namespace hedge::proxy
