// What a client sees when the edge itself answers: problem+json for programs, a small page for browsers. Both
// say what happened, to which worktree and container, and the exact next command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/proxy_error.h"

namespace hedge::proxy {

// A page is never larger, whatever stands in it.
inline constexpr std::size_t kMostPageBytes = 8192;
// Hosts that are named to a peer that may know them, at most; a page has room for fewer.
inline constexpr std::size_t kMostHostsTold = 50;

struct ErrorReport {
  ProxyError error;
  std::string_view host;      // of the request, as received; may be hostile
  std::string_view route_host;  // under which the route was made: a wildcard's, above the request's; empty without
  std::string_view worktree;  // empty: a hand-made route, or none
  std::string_view upstream;  // as the route spells it; empty without a route
  std::string_view request_id;
  std::vector<std::string_view> known_hosts;  // only for a peer that may know them; at most kMostHostsTold
  std::size_t known_hosts_total = 0;
  std::uint16_t port = 0;  // as the request's authority gave it, for links to the known hosts; 0: none
  int retry_after_seconds = 0;  // 0: no such field; else the page reloads itself
};

// True if the Accept field prefers text/html to JSON. Only an explicit text/html or application/xhtml+xml
// counts: "*/*" is what programs send.
bool prefers_html(std::string_view accept);

// RFC 9457.
std::string render_problem_json(const ErrorReport& report);
// Self-contained: no script, no other resource. Everything from outside is escaped and bounded.
std::string render_error_html(const ErrorReport& report);

}  // namespace hedge::proxy
