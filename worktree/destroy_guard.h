// What stands between a worktree and its destruction.
#pragma once

#include "base/result.h"
#include "worktree/destroy_options.h"
#include "worktree/git/git.h"
#include "worktree/record.h"

namespace hedge::worktree {

// Looks at the checkout and refuses where work would be lost. With UnsavedPolicy::discard the work is put behind a recovery ref
// instead, and the report says what and where.
// Requires: the worktree's lock is held.
// Errors: refused `unsaved_work` (hints list what would be lost), `operation_in_progress`, `worktree_locked`, `checkout_broken`;
// permission `files_not_removable`.
Result<DestroyReport> guard_destroy(Git& git, const WorktreeRecord& record, const DestroyOptions& options);

}  // namespace hedge::worktree
