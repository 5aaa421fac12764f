#include "worktree/reaper.h"

#include <utility>

#include "base/file.h"
#include "worktree/git/checkout_disk.h"
#include "worktree/git/checkout_info.h"
#include "worktree/occupant.h"
#include "worktree/relocation.h"

namespace hedge::worktree {

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::alive:
      return "alive";
    case Standing::debt:
      return "debt";
    case Standing::orphan:
      return "orphan";
    case Standing::unborn:
      return "unborn";
    case Standing::unverifiable:
      return "unverifiable";
  }
  return "unverifiable";
}

Judgement judge(Git& git, const WorktreeRecord& recorded) {
  // What looks removed may only have been moved.
  const WorktreeRecord record = find_moved(git, recorded);
  const auto verdict = [&record](Standing standing, std::string why) {
    return Judgement{record, standing, std::move(why)};
  };
  if (!path_exists(record.repository)) {
    return verdict(Standing::unverifiable, "its repository " + record.repository.string() + " is not there");
  }
  const auto place = look_at_place(git, record);
  if (!place) return verdict(Standing::unverifiable, place.error().to_string());
  const bool is_unlisted_half = place->occupant == Occupant::half_made && !place->listed;
  const bool is_debt = record.state == WorktreeState::destroying;
  if (place->occupant == Occupant::another)
    return verdict(Standing::unverifiable, "another worktree stands at its path");
  if (place->occupant == Occupant::unlisted || (is_unlisted_half && !is_debt))
    return verdict(Standing::unverifiable, "something that git does not list is at its path");
  if (is_debt) return verdict(Standing::debt, "destroyed, but not everything of it is gone");
  if (place->occupant != Occupant::nothing) return verdict(Standing::alive, {});
  // A run that has only just begun has made nothing yet.
  const bool is_unborn = record.state == WorktreeState::creating && record.git_dir.empty() && !place->listed;
  if (is_unborn) return verdict(Standing::unborn, "nothing of it was made");
  if (record.state == WorktreeState::creating)
    return verdict(Standing::unverifiable, "it was never finished");
  if (!place->listed)
    return verdict(Standing::orphan, "git no longer lists it, and nothing is at its path");
  // Our lock keeps git from pruning it, so that git goes on listing it.
  if (place->listed->lock_reason != kOurLockReason)
    return verdict(Standing::unverifiable, "git lists it, but its directory cannot be seen");
  if (!is_on_remembered_disk(record.git_dir, record.path)) {
    return verdict(Standing::unverifiable,
                   "its directory cannot be seen, and the disk on which it was made is not mounted there");
  }
  return verdict(Standing::orphan, "its directory was removed");
}

Result<std::vector<Judgement>> judge_all(Git& git, Registry& registry) {
  auto records = registry.load_all();
  if (!records) return records.error();
  std::vector<Judgement> judgements;
  for (const WorktreeRecord& record : *records) judgements.push_back(judge(git, record));
  return judgements;
}

}  // namespace hedge::worktree
