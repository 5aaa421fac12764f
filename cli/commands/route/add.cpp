// hedge route add HOST UPSTREAM: a route made by hand. Works with the edge up or down.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/edge_access.h"
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
