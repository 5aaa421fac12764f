// One route: a hostname and where its requests go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace hedge::router {

// docker:<selector>:<port>. The selector is a container id, a name, or labels: `NAME=VALUE[,NAME=VALUE…]`.
struct DockerUpstream {
  std::string selector;
  std::uint16_t port = 0;
};
// dns:<name>:<port>
struct DnsUpstream {
  std::string name;
  std::uint16_t port = 0;
};
// tcp:<ip>:<port>; IPv6 in brackets.
struct TcpUpstream {
  std::string ip;
  std::uint16_t port = 0;
};
// unix:<absolute path>, at most 107 bytes.
struct UnixUpstream {
  std::string path;
};
using Upstream = std::variant<DockerUpstream, DnsUpstream, TcpUpstream, UnixUpstream>;

// Accepts the four forms above, and a bare HOST:PORT or PORT for people: a literal address becomes tcp:,
// "localhost" and a bare port become tcp:127.0.0.1, any other name becomes dns:.
// Errors: invalid_input `upstream_invalid` (with position and the accepted forms), also for a dns: target
// below .localhost, which every resolver answers with the edge itself.
Result<Upstream> parse_upstream(std::string_view text);
std::string to_string(const Upstream& upstream);

enum class Protocol { http1, h2c, https };
enum class RouteState { live, starting, stopped };  // told by the worktree manager; the edge never guesses it
enum class HostMatch { exact, exact_and_below };    // the second is `wildcard: true`

struct Route {
  std::string host;  // canonical: lower-case, no trailing dot, no port
  HostMatch match = HostMatch::exact;
  Upstream upstream;
  Protocol protocol = Protocol::http1;
  std::string worktree;  // id of the owner; empty for a route that somebody made by hand
  RouteState state = RouteState::live;
};

Result<Protocol> parse_protocol(std::string_view text);
std::string_view to_string(Protocol protocol);
Result<RouteState> parse_route_state(std::string_view text);
std::string_view to_string(RouteState state);

}  // namespace hedge::router
