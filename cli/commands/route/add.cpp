// hedge route add HOST UPSTREAM: a route made by hand. Works with the edge up or down.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/edge_access.h"
#include "cli/edge_options.h"
#include "cli/local_authority.h"
#include "router/host_pattern.h"
#include "router/route_json.h"

namespace hedge::cli {
namespace {

class RouteAddCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand(
        "add", "send a hostname's requests to an upstream; replaces your own earlier route");
    verb->add_option("host", host_, "the hostname")->type_name("HOST")->required();
    verb->add_option("upstream", upstream_,
                     "docker:SELECTOR:PORT, dns:NAME:PORT, tcp:IP:PORT or unix:/PATH; also HOST:PORT or PORT")
        ->type_name("UPSTREAM")
        ->required();
    verb->add_flag("--wildcard", wildcard_, "also every name below the host");
    verb->add_option("--protocol", protocol_, "http1 (default), h2c or https")->type_name("P");
    return verb;
  }

  Result<int> run(Services& services) override {
    auto route = parse();
    if (!route) return route.error();
    Output& output = services.output();
    const std::string upstream = router::to_string(route->upstream);
    if (upstream != upstream_) output.progress("taking \"" + upstream_ + "\" as " + upstream);
    if (auto hidden = refuse_hidden(route->host, services); !hidden) return hidden.error();
    auto store = services.routes();
    if (!store) return store.error();
    if (auto put = (*store)->put(*route); !put) return put.error();
    const std::vector<Warning> warnings = warnings_about_host(route->host, services);
    for (const Warning& warning : warnings) output.warn(warning.text);
    const EdgeNotice notice = tell_edge(services);
    if (output.json()) {
      output.object({{"command", "route add"},
                     {"ok", true},
                     {"route", router::to_json(*route)},
                     {"edge", to_string(notice)},
                     {"warnings", warnings_to_json(warnings)}});
    } else {
      output.line(route->host + "  " + upstream);
    }
    return 0;
  }

 private:
  // A static route wins: the new one would be stored, reported as made, and never served.
  static Result<void> refuse_hidden(const std::string& host, Services& services) {
    const auto client = edge_client(services);
    if (!client) return client.error();
    const auto told = client->fetch_is_static(host);
    const bool is_down = !told && told.error().id() == "edge_not_running";
    const bool is_static = is_down ? is_in_settings(host, services) : told && *told;
    if (!is_static) return {};
    return Error(ErrorKind::conflict, "host " + host + " is a static route of the edge's settings file")
        .with_id("route_conflict")
        .with_hint("change it there and send the edge a SIGHUP");
  }

  // Of the user-wide file, with which an edge starts that is given no other.
  static bool is_in_settings(const std::string& host, Services& services) {
    const auto settings = load_settings({}, services);
    if (!settings) return false;
    return std::any_of(settings->routes.begin(), settings->routes.end(),
                       [&host](const router::Route& route) { return route.host == host; });
  }

  Result<router::Route> parse() const {
    router::Route route;
    auto host = router::canonical_host(host_);
    if (!host) return host.error();
    route.host = std::move(*host);
    auto upstream = router::parse_upstream(upstream_);
    if (!upstream) return upstream.error();
    route.upstream = std::move(*upstream);
    if (wildcard_) route.match = router::HostMatch::exact_and_below;
    if (!protocol_.empty()) {
      auto protocol = router::parse_protocol(protocol_);
      if (!protocol) return std::move(protocol).error().with_id("usage_error");
      route.protocol = *protocol;
    }
    return route;
  }

  std::string host_;
  std::string upstream_;
  std::string protocol_;
  bool wildcard_ = false;
};

}  // namespace

std::unique_ptr<Command> make_route_add_command() {
  return std::make_unique<RouteAddCommand>();
}

}  // namespace hedge::cli
