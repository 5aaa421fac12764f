// hedge route rm HOST: removes a route that was made by hand. The absent one is success.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/edge_access.h"
#include "router/host_pattern.h"

namespace hedge::cli {
namespace {

class RouteRemoveCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("rm", "remove a route made by hand");
    verb->add_option("host", host_, "the hostname")->type_name("HOST")->required();
    return verb;
  }

  Result<int> run(Services& services) override {
    const auto host = router::canonical_host(host_);
    if (!host) return host.error();
    auto store = services.routes();
    if (!store) return store.error();
    const auto removed = (*store)->remove(*host, "");
    if (!removed) return removed.error();
    Output& output = services.output();
    if (!*removed) output.progress("there was no route for " + *host);
    const EdgeNotice notice = tell_edge(services);
    if (output.json()) {
      output.object({{"command", "route rm"},
                     {"ok", true},
                     {"host", *host},
                     {"removed", *removed},
                     {"edge", to_string(notice)}});
    } else if (*removed) {
      output.line("removed " + *host);
    }
    return 0;
  }

 private:
  std::string host_;
};

}  // namespace

std::unique_ptr<Command> make_route_rm_command() {
  return std::make_unique<RouteRemoveCommand>();
}

}  // namespace hedge::cli
