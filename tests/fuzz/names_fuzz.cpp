// Host, :authority and request target of arbitrary bytes: what is accepted stays what it is when it is read
// again, and a look-up finds only what was made for the name.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "proxy/http/request_target.h"
#include "router/host_pattern.h"
#include "router/route_table.h"
#include "tests/fuzz/require.h"

namespace hedge {
namespace {

using test::require;

void check_authority(std::string_view text) {
  const auto authority = router::parse_authority(text);
  if (!authority) return;
  require(!authority->host.empty(), "an authority has a host");
  require(authority->host.data() >= text.data() &&
              authority->host.data() + authority->host.size() <= text.data() + text.size(),
          "the host is a part of what was received");
  const auto again = router::parse_authority(authority->host);
  require(again && again->host == authority->host && !again->port, "a host alone is read as itself");
}

void check_host(std::string_view text) {
  const auto host = router::canonical_host(text);
  if (!host) return;
  require(host->size() <= 253, "a host is bounded");
  require(router::canonical_host(*host).value() == *host, "a canonical host stays as it is");
  const auto authority = router::parse_authority(*host);
  require(authority && equals_ignoring_case(authority->host, *host), "a route's host can be asked for");
  router::Route route;
  route.host = *host;
  route.upstream = router::TcpUpstream{"127.0.0.1", 1};
  const auto exact = router::RouteTable::build({route});
  require(exact->find(*host) != nullptr, "what was made is found");
  require(exact->find("x." + *host) == nullptr, "a child is not");
  route.match = router::HostMatch::exact_and_below;
  const std::string below = "x." + *host;
  if (below.size() <= 253)
    require(router::RouteTable::build({route})->find(below) != nullptr, "a wildcard answers for a child");
}

void check_look_up(std::string_view text) {
  router::Route route;
  route.host = "alpha.localhost";
  route.match = router::HostMatch::exact_and_below;
  route.upstream = router::TcpUpstream{"127.0.0.1", 1};
  static const auto table = router::RouteTable::build({route});
  if (table->find(text) == nullptr) return;
  const std::string lower = ascii_lower(text);
  require(lower == "alpha.localhost" || lower.ends_with(".alpha.localhost"), "nothing else is found");
}

void check_target(std::string_view method, std::string_view text) {
  proxy::http::RequestTarget target;
  if (proxy::http::parse_request_target(method, text, target)) return;
  const std::string sent = std::string(target.prefix) + std::string(target.target);
  require(sent == "*" || sent.starts_with("/"), "what is sent to an upstream is origin-form");
  proxy::http::RequestTarget again;
  require(!proxy::http::parse_request_target(method, sent, again), "it is accepted again");
  require(std::string(again.prefix) + std::string(again.target) == sent && again.authority.empty(),
          "and means the same");
}

}  // namespace
}  // namespace hedge

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  hedge::check_authority(text);
  hedge::check_host(text);
  hedge::check_look_up(text);
  for (const char* method : {"GET", "OPTIONS"}) hedge::check_target(method, text);
  return 0;
}
