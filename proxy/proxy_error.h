// What went wrong with one request: a reason from one table, and the words for the person who reads the page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hedge::proxy {

enum class ProxyReason : std::uint8_t {
  // The client's side.
  bad_request,
  uri_too_long,
  headers_too_large,
  coding_unsupported,
  loop_detected,
  client_gone,
  route_unknown,
  // The upstream's side, before there was a connection.
  upstream_unresolved,
  upstream_ambiguous,
  container_stopped,
  upstream_refused,
  upstream_off_network,
  upstream_unreachable,
  upstream_timeout,
  upstream_tls_failed,
  engine_not_running,
  engine_not_installed,
  engine_permission,
  engine_unresponsive,
  engine_unsupported,
  // The upstream's side, on a connection.
  upstream_closed,
  upstream_bad_response,
  upstream_unsupported,
  // Ours.
  stack_starting,
  overloaded,
  shutting_down,
  internal,
};

enum class ProxySide : std::uint8_t { downstream, upstream, edge };

// Whether the request may be sent again. `if_idempotent` is for failures after which the upstream may have
// acted on it.
enum class Repeatable : std::uint8_t { no, if_idempotent, yes };

struct ProxyReasonFacts {
  std::string_view id;  // Hedge-Error, and the key of `hedge explain`
  ProxySide side;
  Repeatable repeatable;
  unsigned status;
  std::string_view title;  // for people; no full stop
};

// The one table that status codes and retries come from.
const ProxyReasonFacts& facts(ProxyReason reason);
// Absent: no reason has this id.
std::optional<ProxyReason> find_reason(std::string_view id);

struct ProxyError {
  ProxyReason reason = ProxyReason::internal;
  std::string detail;  // what happened, lower case, no full stop: names, addresses, times
  std::string fix;     // the exact next command, or what to change; empty where there is none

  std::string_view id() const { return facts(reason).id; }
  unsigned status() const { return facts(reason).status; }
  ProxySide side() const { return facts(reason).side; }
  Repeatable repeatable() const { return facts(reason).repeatable; }
};

}  // namespace hedge::proxy
