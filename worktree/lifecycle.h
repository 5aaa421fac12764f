// Birth, plan and end of a worktree. Knows the order of things; the things themselves are Resources.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "worktree/commands/held_runner.h"
#include "worktree/destroy_guard.h"
#include "worktree/git/git.h"
#include "worktree/guard.h"
#include "worktree/ledger.h"
#include "worktree/registry.h"
#include "worktree/resource_kind.h"
#include "worktree/runner.h"
#include "worktree/worktree_locks.h"

namespace hedge::worktree {

struct CreateRequest {
  std::string branch;
  std::string from;      // empty: the caller's HEAD
  std::string instance;  // empty: none
  StackWish stack = StackWish::with_stack;
};

// Everything that the manager works with; owned by the caller and outliving the Lifecycle.
struct LifecycleParts {
  Registry& registry;
  Ledger& ledger;
  Git& git;
  const ResourceKinds& kinds;
  const WorktreeLocks& locks;
  StepObserver& observer;
  HeldRunner* commands = nullptr;  // what the kinds run their commands with; null: they run none
};

class Lifecycle {
 public:
  explicit Lifecycle(const LifecycleParts& parts) : parts_(parts) {}

  // The record of the worktree that `request` asks for: a new birth, or the one that is already there. Makes
  // nothing but the record. Errors: see choose_branch(), Registry::admit().
  Result<WorktreeRecord> admit(const Located& caller, const config::ProjectConfig& config,
                               const CreateRequest& request);
  // The same, recording nothing (--dry-run).
  Result<WorktreeRecord> propose(const Located& caller, const config::ProjectConfig& config,
                                 const CreateRequest& request);
  // The record of the checkout that the caller stands in (linked with --adopt, or main).
  Result<WorktreeRecord> adopt(const Located& here, const config::ProjectConfig& config);
  Result<WorktreeRecord> propose_adoption(const Located& here, const config::ProjectConfig& config);

  // The record of a run that ended before it made anything is removed. False: something of it is in the ledger,
  // or it has grown up meanwhile. With `rehearsal` it only tells. Errors: busy, while any worktree is being born.
  enum class Forgetting { real, rehearsal };
  Result<bool> forget_unborn(const WorktreeRecord& record, Forgetting forgetting);

  // Makes or mends everything in `plan`; after a whole plan the record is ready, after a part of one it stays
  // as it was. Takes the worktree's lock. On failure what was made stays, in the ledger: a second run goes on
  // from there.
  enum class Extent { whole, part };
  struct CreateOutcome {
    WorktreeRecord record;  // as it is now
    std::vector<Change> changes;
  };
  Result<CreateOutcome> create(const WorktreeRecord& record, const std::vector<ResourceSpec>& plan,
                               Extent extent = Extent::whole);

  // Works from the ledger. A worktree that is already gone is an empty report.
  // Errors: refused `unsaved_work` (the hints list what would be lost), `operation_in_progress`,
  // `worktree_locked`, `wrapper_running`, `checkout_broken`, `main_checkout` (only a linked worktree can be
  // destroyed); busy. Nothing has been touched then. A report with survivors is not an error: the record
  // stays, and so do their ledger entries.
  Result<DestroyReport> destroy(const WorktreeRecord& record, const DestroyOptions& options);

 private:
  Result<Birth> describe_birth(const Located& caller, const config::ProjectConfig& config,
                               const CreateRequest& request);
  static Birth describe_adoption(const Located& here, const config::ProjectConfig& config);
  Result<WorktreeRecord> revive(WorktreeRecord record, const Birth& birth);
  // As it is now, at its place; absent if it was destroyed. Requires: the worktree's lock.
  Result<std::optional<WorktreeRecord>> load_current(std::string_view id);
  Result<void> follow_branches(const std::filesystem::path& repository);
  Result<WorktreeRecord> refresh(WorktreeRecord record);

  LifecycleParts parts_;
};

}  // namespace hedge::worktree
