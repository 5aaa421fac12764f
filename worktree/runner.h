// Executes a plan: journals each effect, and decides nothing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/ledger.h"
#include "worktree/resource_kind.h"

namespace hedge::worktree {

enum class Stage {
  begun,     // the journal entry is written, the effect comes next
  effected,  // the effect has happened, the entry is still open
  closed,
};

// Told of every step: progress for people, and the place where tests cut a run short.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // An error of kind cancelled ends the run where it stands.
  virtual Result<void> on_step(Stage stage, const ResourceSpec& spec) = 0;
};

struct Survivor {
  ResourceSpec spec;
  Error reason;
  bool is_debt = false;  // a server is down; gc will pay
};

struct RemovalReport {
  std::vector<Change> changes;
  std::vector<Survivor> survivors;  // empty: everything is gone
};

enum class RemovalScope {
  everything,
  outside_of_checkout,  // another worktree took the place: what lives in it is only forgotten
};

class Runner {
 public:
  Runner(Ledger& ledger, const ResourceKinds& kinds, StepObserver& observer)
      : ledger_(ledger), kinds_(kinds), observer_(observer) {}

  // check, and if it is not present: journal, converge, close. A foreign resource is an error and leaves no
  // entry, and so does one that cannot be looked at. One that is present but has no closed entry (a killed run) gets it.
  // What the ledger has under that name and is not the same thing is removed first.
  Result<Change> converge(const WorktreeRecord& record, const ResourceSpec& spec);
  // Every step in order; stops at the first error.
  Result<std::vector<Change>> converge_all(const WorktreeRecord& record,
                                           const std::vector<ResourceSpec>& plan);
  // What the ledger has and a whole plan asks for no longer, backwards: removed, or, where it holds work, retired and kept
  // in the ledger. Stops at the first error.
  Result<std::vector<Change>> settle_unplanned(const WorktreeRecord& record, const std::vector<ResourceSpec>& plan);
  // Everything in the ledger, backwards. Goes on after a failure, except that the checkout stays while
  // anything that lives in it survives, and the branch while the checkout does.
  Result<RemovalReport> remove_all(const WorktreeRecord& record,
                                   RemovalScope scope = RemovalScope::everything);

 private:
  Result<bool> has_closed_entry(const WorktreeRecord& record, const ResourceSpec& spec);
  Result<void> remove_predecessor(const WorktreeRecord& record, const ResourceSpec& spec);
  Result<Change> remove(const WorktreeRecord& record, const ResourceSpec& spec,
                        RemovalScope scope = RemovalScope::everything);
  Result<Change> settle(const WorktreeRecord& record, const ResourceSpec& spec);

  Ledger& ledger_;
  const ResourceKinds& kinds_;
  StepObserver& observer_;
};

}  // namespace hedge::worktree
