#include "worktree/occupant.h"

#include "base/file.h"
#include "worktree/identity.h"

namespace hedge::worktree {

Result<Place> look_at_place(Git& git, const WorktreeRecord& record) {
  auto worktrees = list_worktrees(git, record.repository);
  if (!worktrees) return worktrees.error();
  Place place;
  if (const ListedWorktree* found = find_listed(*worktrees, record.path)) place.listed = *found;
  if (!path_exists(record.path)) return place;
  const bool never_finished = record.git_dir.empty();
  const bool is_half_made =
      never_finished && (!place.listed || place.listed->lock_reason == kHalfMadeLockReason);
  if (is_half_made || !place.listed) {
    place.occupant = is_half_made ? Occupant::half_made : Occupant::unlisted;
    return place;
  }
  const auto info = inspect_exactly(git, record.path);
  if (!info) return info.error();
  const auto identity = load_identity(info->git_dir);
  if (!identity) return identity.error();
  const bool is_ours = *identity ? **identity == record.id : never_finished;
  place.occupant = is_ours ? Occupant::ours : Occupant::another;
  return place;
}

}  // namespace hedge::worktree
