// Birth, plan and end of a worktree. Knows the order of things; the things themselves are Resources.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "worktree/git/git.h"
#include "worktree/git/unsaved_work.h"
#include "worktree/guard.h"
#include "worktree/ledger.h"
#include "worktree/ports.h"
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

enum class UnsavedPolicy { refuse, discard };  // discard keeps a recovery ref
enum class BranchPolicy { remove_if_integrated, keep };

struct DestroyOptions {
  UnsavedPolicy unsaved = UnsavedPolicy::refuse;
  BranchPolicy branch = BranchPolicy::remove_if_integrated;
};

struct DestroyReport {
  RemovalReport removal;
  UnsavedWork discarded;             // empty unless UnsavedPolicy::discard let something go
  std::string recovery_ref;          // empty: nothing was at risk
  std::vector<std::string> ignored;  // went with the checkout
};

// Everything that the manager works with; owned by the caller and outliving the Lifecycle.
struct LifecycleParts {
  StateDatabase& state;
  Registry& registry;
  Ledger& ledger;
  Ports& ports;
  Git& git;
  const ResourceKinds& kinds;
  const config::Paths& paths;
  StepObserver& observer;
};

class Lifecycle {
 public:
  explicit Lifecycle(const LifecycleParts& parts) : parts_(parts), locks_(parts.paths) {}

  // The record of the worktree that `request` asks for: a new birth, or the one that is already there. Makes nothing but the
  // record. Errors: see choose_branch(), Registry::admit().
  Result<WorktreeRecord> admit(const Located& caller, const config::ProjectConfig& config, const CreateRequest& request);
  // The same, recording nothing (--dry-run).
  Result<WorktreeRecord> propose(const Located& caller, const config::ProjectConfig& config,
                                 const CreateRequest& request);
  // The record of the checkout that the caller stands in (linked with --adopt, or main).
  Result<WorktreeRecord> adopt(const Located& here, const config::ProjectConfig& config);

  // What planning needs to know of the world. In `rehearsal` no port is recorded.
  enum class ObserveMode { real, rehearsal };
  Result<Observed> observe(const WorktreeRecord& record, const config::ProjectConfig& config, ObserveMode mode);

  // Makes or mends everything in `plan`; on success the record is ready. Takes the worktree's lock.
  // On failure what was made stays, in the ledger: a second run goes on from there.
  struct CreateOutcome {
    WorktreeRecord record;  // as it is now
    std::vector<Change> changes;
  };
  Result<CreateOutcome> create(const WorktreeRecord& record, const std::vector<ResourceSpec>& plan);

  // Errors: refused `unsaved_work` (the hints list what would be lost), `operation_in_progress`, `worktree_locked`,
  // `wrapper_running`, `main_checkout` (only a linked worktree can be destroyed); busy.
  // A report with survivors is not an error: the record stays, and so do their ledger entries.
  Result<DestroyReport> destroy(const WorktreeRecord& record, const DestroyOptions& options);

  const WorktreeLocks& locks() const { return locks_; }

 private:
  LifecycleParts parts_;
  WorktreeLocks locks_;
};

// The plan: a pure function of its input. The values that templates may use are those of every kind and the worktree's own
// ({id}, {slug}, {app}, {branch}, {nonce}, {app.url}, {cookies.NAME}, {port.NAME}).
struct Plan {
  std::vector<ResourceSpec> steps;
  Values values;
};
Result<Plan> make_plan(const ResourceKinds& kinds, const PlanInput& input);

// Names of a record: derive_names() or derive_main_names() with the configured rules.
WorktreeNames names_of(const WorktreeRecord& record, const config::ProjectConfig& config);

}  // namespace hedge::worktree
