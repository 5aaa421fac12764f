// "stack" as a kind of resource: processes or containers, as hedge.toml says.
#pragma once

#include <string>
#include <vector>

#include "base/subprocess.h"
#include "config/paths.h"
#include "worktree/resource_kind.h"
#include "worktree/stack/service_selection.h"

namespace hedge::worktree {

struct StackSetup {
  std::vector<std::string> supervisor;  // such as {"/usr/bin/hedge", "supervise"}
  Environment environment;              // the caller's
};

// Publishes `stack.upstream`: the route's target of the first service with a port, as
// router::parse_upstream() reads it.
class StackKind final : public ResourceKind {
 public:
  // Lifetime: `runner` and `paths` outlive the kind and what it makes.
  StackKind(StackSetup setup, const config::Paths& paths, CommandRunner& runner);

  std::string kind() const override { return "stack"; }
  void publish(const PlanInput& input, Values& values) const override;
  Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const override;
  bool is_same_thing(const ResourceSpec& recorded, const ResourceSpec& wanted) const override;
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                         const WorktreeRecord& record) const override;

 private:
  StackSetup setup_;
  const config::Paths& paths_;
  CommandRunner& runner_;
};

// What `plan()` decided about each service, and the same step with another wish (`hedge up --all`, `hedge up
// SERVICE`). Requires: `spec` is of kind "stack". Errors: corrupt; those of select_services().
Result<std::vector<ServiceChoice>> choices_of(const ResourceSpec& spec);
Result<ResourceSpec> with_wish(const ResourceSpec& spec, const ServiceWish& wish);

}  // namespace hedge::worktree
