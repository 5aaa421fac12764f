// hedge route ls: what the store holds, and what a running edge serves besides it.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/edge_access.h"
#include "router/route_json.h"

namespace hedge::cli {
namespace {

struct Listed {
  router::Route route;
  bool stored = true;  // false: from the edge's settings file
};

class RouteListCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override { return parent.add_subcommand("ls", "list the routes"); }

  Result<int> run(Services& services) override {
    auto store = services.routes();
    if (!store) return store.error();
    auto loaded = (*store)->load_all();
    if (!loaded) return loaded.error();
    std::vector<Listed> listed;
    for (router::Route& route : loaded->routes) listed.push_back({std::move(route), true});
    add_static(services, listed);
    std::sort(listed.begin(), listed.end(),
              [](const Listed& a, const Listed& b) { return a.route.host < b.route.host; });
    Output& output = services.output();
    for (const router::UnreadableRoute& broken : loaded->unreadable) {
      output.warn("the route of \"" + broken.host + "\" cannot be read: " + broken.reason.to_string());
    }
    print(output, listed, loaded->unreadable);
    return 0;
  }

 private:
  // Only the edge knows which settings file it runs with.
  static void add_static(Services& services, std::vector<Listed>& listed) {
    const auto client = edge_client(services);
    if (!client) return;
    const auto served = client->fetch_routes();
    if (!served) {
      if (served.error().id() == "edge_not_running") return;
      services.output().warn("the routes of the edge's settings file are not listed: " +
                             served.error().to_string());
      return;
    }
    std::unordered_set<std::string> stored;
    for (const Listed& one : listed) stored.insert(one.route.host);
    for (const router::Route& route : *served) {
      if (!stored.contains(route.host)) listed.push_back({route, false});
    }
  }

  static std::vector<std::string> cells(const Listed& one) {
    const router::Route& route = one.route;
    const bool wildcard = route.match == router::HostMatch::exact_and_below;
    return {wildcard ? route.host + " (and below)" : route.host, router::to_string(route.upstream),
            std::string(router::to_string(route.protocol)),      std::string(router::to_string(route.state)),
            route.worktree.empty() ? "-" : route.worktree,       one.stored ? "store" : "settings"};
  }

  static void print(Output& output, const std::vector<Listed>& listed,
                    const std::vector<router::UnreadableRoute>& unreadable) {
    nlohmann::json routes = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows;
    for (const Listed& one : listed) {
      nlohmann::json told = router::to_json(one.route);
      told["stored"] = one.stored;
      routes.push_back(std::move(told));
      rows.push_back(cells(one));
    }
    if (!output.json()) {
      output.table({"host", "upstream", "protocol", "state", "worktree", "from"}, rows);
      return;
    }
    nlohmann::json broken = nlohmann::json::array();
    for (const auto& record : unreadable)
      broken.push_back({{"host", record.host}, {"reason", record.reason.to_string()}});
    output.object({{"command", "route ls"}, {"ok", true}, {"routes", routes}, {"unreadable", broken}});
  }
};

}  // namespace

std::unique_ptr<Command> make_route_ls_command() {
  return std::make_unique<RouteListCommand>();
}

}  // namespace hedge::cli
