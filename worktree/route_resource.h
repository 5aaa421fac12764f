// The public hostname of a worktree in the router's store, as a resource.
#pragma once

#include <memory>

#include "router/edge_client.h"
#include "router/route_store.h"
#include "worktree/resource_kind.h"

namespace hedge::worktree {

inline constexpr std::string_view kRouteKind = "route";
// The value with which the stack's kind says where the worktree is served, in the form of router/route.h. No
// value, no route.
inline constexpr std::string_view kUpstreamValue = "stack.upstream";

// A running edge is poked after each change; one that is down reads the store when it starts.
class RouteKind final : public ResourceKind {
 public:
  RouteKind(router::RouteStore& store, router::EdgeClient edge) : store_(store), edge_(std::move(edge)) {}
  std::string kind() const override { return std::string(kRouteKind); }
  void publish(const PlanInput&, Values&) const override {}
  Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const override;
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                         const WorktreeRecord& record) const override;

 private:
  router::RouteStore& store_;
  router::EdgeClient edge_;
};

}  // namespace hedge::worktree
