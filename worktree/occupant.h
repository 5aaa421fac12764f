// What stands at a worktree's place. The one answer to "is this ours?": whoever removes, renames or judges
// asks here.
#pragma once

#include <optional>

#include "base/result.h"
#include "worktree/git/checkout_info.h"
#include "worktree/git/git.h"
#include "worktree/record.h"

namespace hedge::worktree {

enum class Occupant {
  nothing,    // no file or directory
  half_made,  // what a run that never finished may have left
  ours,       // bears our identity; or, of a run that never finished, none yet
  another,    // a worktree with another identity, or none: ours was removed and its place taken
  unlisted,   // something that git does not list
};

struct Place {
  Occupant occupant = Occupant::nothing;
  std::optional<ListedWorktree> listed;  // git's entry for the path
};

// Requires: the record's repository is there. The name of a git directory proves nothing: git gives that of
// a removed worktree to the next one at the same path. Errors: refused `checkout_broken`; corrupt
// `state_unreadable`, if the identity cannot be read.
Result<Place> look_at_place(Git& git, const WorktreeRecord& record);

}  // namespace hedge::worktree
