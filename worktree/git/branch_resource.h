// The branch of a worktree, as a resource: made before the checkout and, where it may go, removed after it.
#pragma once

#include <memory>

#include "worktree/git/git.h"
#include "worktree/resource_kind.h"
#include "worktree/worktree_locks.h"

namespace hedge::worktree {

inline constexpr std::string_view kBranchKind = "branch";

// converge() makes the branch at the recorded base, without tracking (that would take the configuration's
// lock from parallel runs), and then sets the upstream of one that came from a remote. remove() deletes it
// only if it is ours and its tip is where it began, or if it has moved and everything on it is integrated
// elsewhere; otherwise it stays, which is no failure.
class BranchKind final : public ResourceKind {
 public:
  BranchKind(Git& git, const WorktreeLocks& locks) : git_(git), locks_(locks) {}
  std::string kind() const override { return std::string(kBranchKind); }
  void publish(const PlanInput&, Values&) const override {}
  Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const override;
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                         const WorktreeRecord& record) const override;

 private:
  Git& git_;
  const WorktreeLocks& locks_;
};

}  // namespace hedge::worktree
