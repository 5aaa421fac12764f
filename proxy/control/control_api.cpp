#include "proxy/control/control_api.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "proxy/control/percent_encoding.h"
#include "router/host_pattern.h"
#include "router/route_json.h"

namespace hedge::proxy {
namespace {

using nlohmann::json;

// A target taken apart: "/v1/routes/a.localhost?worktree=x".
struct Target {
  std::string path;
  std::string host;      // of /v1/routes/{host}
  std::string worktree;  // of ?worktree=
};

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

ApiAnswer ok(const json& value) {
  ApiAnswer answer;
  answer.body = dump(value);
  return answer;
}

// Errors: invalid_input, with the place where the text stops to be JSON.
Result<json> parse_json_body(const std::string& text) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& failure) {
    const std::string_view before =
        std::string_view(text).substr(0, failure.byte == 0 ? 0 : failure.byte - 1);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return Error(ErrorKind::invalid_input, "the body is not JSON at line " + std::to_string(line) +
                                               ", column " + std::to_string(before.size() - line_start + 1));
  } catch (const json::exception&) {
    return Error(ErrorKind::invalid_input, "the body holds a number that is too large");
  }
}

unsigned http_status_of(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::invalid_input:
      return 400;
    case ErrorKind::not_found:
      return 404;
    case ErrorKind::conflict:
      return 409;
    case ErrorKind::busy:
    case ErrorKind::unavailable:
      return 503;
    case ErrorKind::no_space:
      return 507;
    default:
      return 500;
  }
}

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  const auto question = text.find('?');
  target.path = std::string(text.substr(0, question));
  constexpr std::string_view kRoutes = "/v1/routes/";
  if (target.path.starts_with(kRoutes) && target.path.size() > kRoutes.size()) {
    auto host = percent_decode(std::string_view(target.path).substr(kRoutes.size()));
    if (!host) return std::nullopt;
    target.host = std::move(*host);
    target.path = "/v1/routes/{host}";
  }
  if (question == std::string_view::npos) return target;
  for (const std::string_view pair : split(text.substr(question + 1), '&')) {
    if (!pair.starts_with("worktree=")) return std::nullopt;
    auto worktree = percent_decode(pair.substr(9));
    if (!worktree) return std::nullopt;
    target.worktree = std::move(*worktree);
  }
  return target;
}

json listeners_of(const EdgeFacts& facts) {
  json out = json::array();
  for (const router::EdgeListener& listener : facts.listeners) {
    out.push_back({{"scheme", listener.scheme}, {"address", listener.address}, {"port", listener.port}});
  }
  return out;
}

json status_of(const ControlActions& actions) {
  const EdgeFacts facts = actions.facts();
  return {{"pid", static_cast<std::int64_t>(::getpid())},
          {"version", HEDGE_VERSION},
          {"state_directory", actions.state_directory()},
          {"uptime_seconds", actions.uptime().count()},
          {"workers", facts.workers},
          {"connections", facts.connections},
          {"routes", actions.table().size()},
          {"listeners", listeners_of(facts)},
          {"warnings", actions.warnings()}};
}

ApiAnswer get_metrics(const ControlActions& actions) {
  ApiAnswer answer;
  answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  answer.body = render_metrics(actions.metrics(), actions.control_metrics());
  return answer;
}

// What the manager needs to decide which worktree rests: nobody asked for it since, and nothing is open.
ApiAnswer get_activity(const ControlActions& actions) {
  json list = json::array();
  for (const auto& [worktree, totals] : actions.metrics().traffic) {
    if (worktree == kUnownedLabel || worktree == kUnroutedLabel || worktree == kOtherLabel) continue;
    json last;
    if (totals.last_request_seconds != 0)
      last = format_utc(WallTime(std::chrono::seconds(totals.last_request_seconds)));
    list.push_back(
        {{"worktree", worktree},
         {"requests", std::accumulate(totals.by_class.begin(), totals.by_class.end(), std::uint64_t{0})},
         {"requests_open", totals.requests_open},
         {"tunnels_open", totals.tunnels_open},
         {"last_request", std::move(last)}});
  }
  return ok({{"worktrees", std::move(list)}});
}

json described(const router::Route& route, const ControlActions& actions) {
  json out = router::to_json(route);
  out["static"] = actions.is_static(route.host);
  return out;
}

ApiAnswer get_routes(const ControlActions& actions) {
  json list = json::array();
  for (const router::Route* route : router::routes_by_host(actions.table()))
    list.push_back(described(*route, actions));
  return ok({{"routes", std::move(list)}});
}

ApiAnswer get_route(const Target& target, const ControlActions& actions) {
  const auto host = router::canonical_host(target.host);
  if (!host) return api_problem(host.error());
  const router::Route* route = actions.table().find_made_for(*host);
  if (route == nullptr) return api_problem(404, "route_unknown", "there is no route for " + *host);
  return ok(described(*route, actions));
}

// The store, if `host` may be changed in it.
Result<router::RouteStore*> store_for(const std::string& host, ControlActions& actions) {
  if (actions.is_static(host)) {
    return Error(ErrorKind::conflict, "host " + host + " is a static route of the edge's settings file")
        .with_id("route_conflict")
        .with_hint("change it there and send the edge a SIGHUP");
  }
  router::RouteStore* store = actions.store();
  if (store != nullptr) return store;
  return Error(ErrorKind::unavailable, "the route store cannot be read").with_id("state_unreadable");
}

Result<router::Route> route_of(const Target& target, const ApiRequest& request) {
  auto parsed = parse_json_body(request.body);
  if (!parsed) return parsed.error();
  json& body = *parsed;
  if (!body.is_object()) return Error(ErrorKind::invalid_input, "the body is not a JSON object");
  auto host = router::canonical_host(target.host);
  if (!host) return host.error();
  if (!body.contains("host")) body["host"] = *host;
  auto route = router::route_from_json(body);
  if (route && route->host != *host)
    return Error(ErrorKind::invalid_input, "the body names another host than the path");
  return route;
}

ApiAnswer put_route(const Target& target, const ApiRequest& request, ControlActions& actions) {
  if (!equals_ignoring_case(trim(split(request.content_type, ';').front()), "application/json")) {
    return api_problem(415, "bad_request", "the body must be of type application/json");
  }
  const auto route = route_of(target, request);
  if (!route) return api_problem(route.error());
  const auto store = store_for(route->host, actions);
  if (!store) return api_problem(store.error());
  if (auto stored = (*store)->put(*route); !stored) return api_problem(stored.error());
  actions.refresh();
  return ok(described(*route, actions));
}

ApiAnswer delete_route(const Target& target, ControlActions& actions) {
  const auto host = router::canonical_host(target.host);
  if (!host) return api_problem(host.error());
  const auto store = store_for(*host, actions);
  if (!store) return api_problem(store.error());
  if (auto removed = (*store)->remove(*host, target.worktree); !removed) return api_problem(removed.error());
  actions.refresh();
  ApiAnswer answer;
  answer.status = 204;
  return answer;
}

ApiAnswer post_refresh(ControlActions& actions) {
  actions.refresh();
  return ok({{"routes", actions.table().size()}, {"warnings", actions.warnings()}});
}

struct Endpoint {
  std::string_view path;
  std::string_view allow;
};
// The last two are answered by the server, which has the connection; another method ends here.
constexpr std::array<Endpoint, 8> kEndpoints = {{{"/v1/status", "GET"},
                                                 {"/v1/metrics", "GET"},
                                                 {"/v1/activity", "GET"},
                                                 {"/v1/routes", "GET"},
                                                 {"/v1/routes/{host}", "GET, PUT, DELETE"},
                                                 {"/v1/refresh", "POST"},
                                                 {"/v1/events", "GET"},
                                                 {"/v1/takeover", "POST"}}};

ApiAnswer dispatch(const Target& target, const ApiRequest& request, ControlActions& actions) {
  const bool is_get = request.method == "GET";
  if (target.path == "/v1/status" && is_get) return ok(status_of(actions));
  if (target.path == "/v1/metrics" && is_get) return get_metrics(actions);
  if (target.path == "/v1/activity" && is_get) return get_activity(actions);
  if (target.path == "/v1/routes" && is_get) return get_routes(actions);
  if (target.path == "/v1/refresh" && request.method == "POST") return post_refresh(actions);
  if (target.path == "/v1/routes/{host}") {
    if (is_get) return get_route(target, actions);
    if (request.method == "PUT") return put_route(target, request, actions);
    if (request.method == "DELETE") return delete_route(target, actions);
  }
  for (const Endpoint& endpoint : kEndpoints) {
    if (target.path != endpoint.path) continue;
    ApiAnswer answer =
        api_problem(405, "bad_request", "only " + std::string(endpoint.allow) + " is allowed here");
    answer.allow = endpoint.allow;
    return answer;
  }
  return api_problem(404, "bad_request", "there is nothing at " + printable(request.target));
}

std::string_view title_of(unsigned status) {
  switch (status) {
    case 400:
      return "Bad request";
    case 404:
      return "Not found";
    case 405:
      return "Method not allowed";
    case 409:
      return "Conflict";
    case 426:
      return "Upgrade required";
    case 413:
      return "Body too large";
    case 415:
      return "Unsupported media type";
    case 431:
      return "Header fields too large";
    case 503:
      return "Unavailable";
    case 507:
      return "Disk full";
    default:
      return "Failed";
  }
}

}  // namespace

ApiAnswer api_problem(unsigned status, std::string_view id, std::string_view detail,
                      const std::vector<std::string>& hints) {
  ApiAnswer answer;
  answer.status = status;
  answer.content_type = "application/problem+json";
  answer.body = dump({{"title", std::string(title_of(status))},
                      {"status", status},
                      {"id", std::string(id)},
                      {"detail", std::string(detail)},
                      {"hints", hints}});
  return answer;
}

ApiAnswer api_problem(const Error& error) {
  const std::string_view id = error.id().empty() ? std::string_view("bad_request") : error.id();
  return api_problem(http_status_of(error), id, error.to_string(), error.hints());
}

std::string status_json(const ControlActions& actions) {
  return dump(status_of(actions));
}

std::string reload_event(bool ok, std::string_view detail) {
  return dump({{"ok", ok}, {"detail", std::string(detail)}});
}

ApiAnswer answer_api(const ApiRequest& request, ControlActions& actions) {
  const auto target = parse_target(request.target);
  if (!target) return api_problem(400, "bad_request", "the target cannot be read");
  return dispatch(*target, request, actions);
}

}  // namespace hedge::proxy
