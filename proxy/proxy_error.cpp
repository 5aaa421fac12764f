#include "proxy/proxy_error.h"

#include <array>
#include <cstddef>

namespace hedge::proxy {
namespace {

struct Row {
  ProxyReason reason;
  ProxyReasonFacts facts;
};

using enum ProxySide;
using R = ProxyReason;

// In the order of the enum, so that the reason is the index.
constexpr std::array kRows = {
    Row{R::bad_request, {"bad_request", downstream, Repeatable::no, 400, "The request is malformed"}},
    Row{R::uri_too_long, {"uri_too_long", downstream, Repeatable::no, 414, "The request line is too long"}},
    Row{R::headers_too_large,
        {"headers_too_large", downstream, Repeatable::no, 431, "The request's header fields are too large"}},
    Row{R::coding_unsupported,
        {"coding_unsupported", downstream, Repeatable::no, 501, "The transfer coding is not supported"}},
    Row{R::loop_detected, {"loop_detected", downstream, Repeatable::no, 508, "The request runs in a circle"}},
    Row{R::client_gone, {"client_gone", downstream, Repeatable::no, 499, "The client went away"}},
    Row{R::route_unknown, {"route_unknown", downstream, Repeatable::no, 404, "No route has this hostname"}},
    Row{R::upstream_unresolved,
        {"upstream_unresolved", upstream, Repeatable::no, 502, "The upstream's name does not exist"}},
    Row{R::upstream_ambiguous,
        {"upstream_ambiguous", upstream, Repeatable::no, 502, "More than one container matches the route"}},
    Row{R::container_stopped,
        {"container_stopped", upstream, Repeatable::no, 502, "The container is not running"}},
    Row{R::upstream_refused,
        {"upstream_refused", upstream, Repeatable::no, 502, "Nothing listens on the upstream's port"}},
    Row{R::upstream_off_network,
        {"upstream_off_network", upstream, Repeatable::no, 502,
         "The container is not on the edge's network"}},
    Row{R::upstream_unreachable,
        {"upstream_unreachable", upstream, Repeatable::no, 502, "The upstream's address cannot be reached"}},
    Row{R::upstream_timeout,
        {"upstream_timeout", upstream, Repeatable::no, 504, "The upstream does not answer"}},
    Row{R::upstream_tls_failed,
        {"upstream_tls_failed", upstream, Repeatable::no, 502, "The TLS handshake with the upstream failed"}},
    Row{R::engine_not_running,
        {"engine_not_running", upstream, Repeatable::no, 502, "The Docker engine is not running"}},
    Row{R::engine_not_installed,
        {"engine_not_installed", upstream, Repeatable::no, 502, "There is no Docker engine on this machine"}},
    Row{R::engine_permission,
        {"engine_permission", upstream, Repeatable::no, 502, "The edge may not talk to the Docker engine"}},
    Row{R::engine_unresponsive,
        {"engine_unresponsive", upstream, Repeatable::no, 502, "The Docker engine does not answer"}},
    Row{R::engine_unsupported,
        {"engine_unsupported", upstream, Repeatable::no, 502, "The Docker engine is too old or too new"}},
    Row{R::upstream_closed,
        {"upstream_closed", upstream, Repeatable::if_idempotent, 502, "The upstream closed the connection"}},
    Row{R::upstream_bad_response,
        {"upstream_bad_response", upstream, Repeatable::no, 502, "The upstream's response is malformed"}},
    Row{R::upstream_unsupported,
        {"upstream_unsupported", upstream, Repeatable::no, 502, "The route's protocol cannot do this"}},
    Row{R::stack_starting, {"stack_starting", edge, Repeatable::no, 503, "The worktree is being started"}},
    Row{R::overloaded, {"overloaded", edge, Repeatable::no, 503, "The edge has no descriptors left"}},
    Row{R::shutting_down, {"shutting_down", edge, Repeatable::no, 503, "The edge is shutting down"}},
    Row{R::internal, {"internal", edge, Repeatable::no, 500, "The edge failed"}},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].reason != static_cast<ProxyReason>(i)) return false;
  }
  return kRows.size() == static_cast<std::size_t>(ProxyReason::internal) + 1;
}
static_assert(in_order(), "one row for each reason, in the enum's order");

}  // namespace

const ProxyReasonFacts& facts(ProxyReason reason) {
  return kRows[static_cast<std::size_t>(reason)].facts;
}

std::optional<ProxyReason> find_reason(std::string_view id) {
  for (const Row& row : kRows) {
    if (row.facts.id == id) return row.reason;
  }
  return std::nullopt;
}

}  // namespace hedge::proxy
