// What `destroy` would do, without doing any of it.
#pragma once

#include "base/result.h"
#include "worktree/destroy_guard.h"
#include "worktree/ledger.h"
#include "worktree/resource_kind.h"
#include "worktree/worktree_locks.h"

namespace hedge::worktree {

struct RehearsalParts {
  Git& git;
  Ledger& ledger;
  const ResourceKinds& kinds;
  const WorktreeLocks& locks;
};

// As Lifecycle::destroy() would report, had nothing survived: the removals in their order, what would be discarded, the
// ignored files that would go. Errors: those with which it would refuse. Takes no lock but the wrappers', and that for
// a moment only: what it says may have changed by the time somebody acts on it.
Result<DestroyReport> rehearse_destroy(const RehearsalParts& parts, const WorktreeRecord& record,
                                       const DestroyOptions& options);

}  // namespace hedge::worktree
