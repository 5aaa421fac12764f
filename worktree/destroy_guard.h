// What stands between a worktree and its destruction.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/git/git.h"
#include "worktree/git/unsaved_work.h"
#include "worktree/record.h"
#include "worktree/runner.h"

namespace hedge::worktree {

enum class UnsavedPolicy { refuse, discard };  // discard keeps a recovery ref
enum class GuardMode { act, rehearse };            // rehearse makes no recovery ref
enum class BranchPolicy { remove_if_integrated, keep };

struct DestroyOptions {
  UnsavedPolicy unsaved = UnsavedPolicy::refuse;
  BranchPolicy branch = BranchPolicy::remove_if_integrated;
};

struct DestroyReport {
  RemovalScope scope = RemovalScope::everything;
  RemovalReport removal;
  UnsavedWork discarded;             // empty unless UnsavedPolicy::discard let something go
  std::string recovery_ref;          // empty: nothing was at risk
  std::vector<std::string> ignored;  // went with the checkout
};

// Errors: refused `main_checkout`.
Result<void> require_linked(const WorktreeRecord& record);

// Looks at the checkout and refuses where work would be lost. With UnsavedPolicy::discard the work is put
// behind a recovery ref instead, and the report says what and where. Requires: the worktree's lock is held,
// unless it is a rehearsal.
// Errors: refused `unsaved_work` (hints list what would be lost), `operation_in_progress`, `worktree_locked`,
// `checkout_broken`; permission `files_not_removable`.
Result<DestroyReport> guard_destroy(Git& git, const WorktreeRecord& record, const DestroyOptions& options,
                                    GuardMode mode = GuardMode::act);

// The last look before the checkout goes: removing the rest took its time, and somebody may have worked on.
// Errors: as guard_destroy().
Result<void> require_nothing_unsaved(Git& git, const WorktreeRecord& record);

}  // namespace hedge::worktree
