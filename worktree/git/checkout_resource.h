// The checkout itself: `git worktree add`, made convergent. Knows what a killed run can leave and how it is
// told from somebody's work.
#pragma once

#include <memory>

#include "worktree/git/git.h"
#include "worktree/ledger.h"
#include "worktree/resource_kind.h"
#include "worktree/worktree_locks.h"

namespace hedge::worktree {

inline constexpr std::string_view kCheckoutKind = "checkout";

// The main checkout's only has its identity. remove() deletes the directory without asking: whether something
// in it would be lost is Lifecycle::destroy()'s question.
class CheckoutKind final : public ResourceKind {
 public:
  CheckoutKind(Git& git, const WorktreeLocks& locks, Ledger& ledger)
      : git_(git), locks_(locks), ledger_(ledger) {}
  std::string kind() const override { return std::string(kCheckoutKind); }
  void publish(const PlanInput&, Values&) const override {}
  Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const override;
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                         const WorktreeRecord& record) const override;

 private:
  Git& git_;
  const WorktreeLocks& locks_;
  Ledger& ledger_;
};

}  // namespace hedge::worktree
