#include "worktree/route_resource.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "worktree/parameters.h"

namespace hedge::worktree {
namespace {

class RouteResource final : public Resource {
 public:
  RouteResource(router::RouteStore& store, const router::EdgeClient& edge, router::Route route)
      : store_(store), edge_(edge), route_(std::move(route)) {}

  std::string kind() const override { return std::string(kRouteKind); }
  std::string name() const override { return route_.host; }

  Result<Finding> check() override {
    auto loaded = store_.load_all();
    if (!loaded) return loaded.error();
    const auto found = std::ranges::find(loaded->routes, route_.host, &router::Route::host);
    if (found == loaded->routes.end()) return Finding{Presence::missing, {}, {}};
    if (found->worktree != route_.worktree) {
      Error problem =
          Error(ErrorKind::conflict, "the hostname " + route_.host + " is somebody else's route")
              .with_id("route_conflict")
              .with_hint("`hedge route ls` shows whose; `hedge route rm` removes one that was made by hand");
      return Finding{Presence::foreign, problem.text(), {std::move(problem)}};
    }
    const bool is_same = to_string(found->upstream) == to_string(route_.upstream) &&
                         found->protocol == route_.protocol && found->match == route_.match &&
                         found->state == router::RouteState::live;
    if (is_same) return Finding{Presence::present, to_string(found->upstream), {}};
    return Finding{Presence::differs, to_string(found->upstream), {}};
  }

  Result<Change> converge() override {
    auto before = check();
    if (!before) return before.error();
    if (auto put = store_.put(route_); !put) return put.error();
    poke();
    const Action action = before->presence == Presence::missing ? Action::created : Action::updated;
    return Change{kind(), name(), action, to_string(route_.upstream)};
  }

  Result<Change> remove() override {
    auto removed = store_.remove(route_.host, route_.worktree);
    // Somebody else has the hostname now; ours is gone.
    if (!removed && removed.error().kind() == ErrorKind::conflict)
      return Change{kind(), name(), Action::none, {}};
    if (!removed) return removed.error();
    poke();
    return Change{kind(), name(), *removed ? Action::removed : Action::none, {}};
  }

 private:
  // The store is the truth: an edge that cannot be told sees the change within a second by itself.
  void poke() { (void)edge_.poke(); }

  router::RouteStore& store_;
  const router::EdgeClient& edge_;
  router::Route route_;
};

}  // namespace

Result<std::vector<ResourceSpec>> RouteKind::plan(const PlanInput& input, const Values& values) const {
  const auto upstream = values.find(std::string(kUpstreamValue));
  if (upstream == values.end() || upstream->second.empty()) return std::vector<ResourceSpec>();
  const std::string text = upstream->second.literals();
  if (auto parsed = router::parse_upstream(text); !parsed) return parsed.error();
  const nlohmann::json parameters{{"upstream", text}};
  return std::vector<ResourceSpec>{{kind(), input.names.host, write_parameters(parameters)}};
}

Result<std::unique_ptr<Resource>> RouteKind::make(const ResourceSpec& spec,
                                                  const WorktreeRecord& record) const {
  const auto json = nlohmann::json::parse(spec.parameters, nullptr, false);
  const bool is_readable = json.is_object() && json.contains("upstream") && json["upstream"].is_string();
  auto upstream = router::parse_upstream(is_readable ? json["upstream"].get<std::string>() : std::string());
  if (!upstream) {
    return Error(ErrorKind::corrupt,
                 "the ledger's entry of route " + printable(spec.name) + " cannot be read")
        .with_id("state_unreadable")
        .with_cause(std::move(upstream).error());
  }
  router::Route route;
  route.host = spec.name;
  route.upstream = std::move(*upstream);
  route.worktree = record.id;
  return std::unique_ptr<Resource>(std::make_unique<RouteResource>(store_, edge_, std::move(route)));
}

}  // namespace hedge::worktree
