#include "worktree/reaper.h"

#include <algorithm>

#include "base/file.h"
#include "worktree/git/checkout_info.h"
#include "worktree/identity.h"

namespace hedge::worktree {

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::alive:
      return "alive";
    case Standing::debt:
      return "debt";
    case Standing::orphan:
      return "orphan";
    case Standing::unverifiable:
      return "unverifiable";
  }
  return "unverifiable";
}

Judgement judge(Git& git, const WorktreeRecord& record) {
  const auto verdict = [&record](Standing standing, std::string why) {
    return Judgement{record, standing, std::move(why)};
  };
  if (!path_exists(record.repository)) {
    return verdict(Standing::unverifiable, "its repository " + record.repository.string() + " is not there");
  }
  const auto worktrees = list_worktrees(git, record.repository);
  if (!worktrees) return verdict(Standing::unverifiable, worktrees.error().to_string());
  const auto listed = std::ranges::find(*worktrees, record.path, &ListedWorktree::path);
  const bool is_listed = listed != worktrees->end();
  const bool exists = path_exists(record.path);
  if (record.state == WorktreeState::destroying)
    return verdict(Standing::debt, "destroyed, but not everything of it is gone");
  if (exists && is_listed) {
    const auto info = inspect_exactly(git, record.path);
    if (!info) return verdict(Standing::unverifiable, info.error().to_string());
    const auto identity = load_identity(info->git_dir);
    if (identity && (*identity == record.id || record.git_dir.empty())) return verdict(Standing::alive, {});
    return verdict(Standing::unverifiable, "another worktree stands at its path");
  }
  if (exists) return verdict(Standing::unverifiable, "something that git does not list is at its path");
  // A run that has only just begun has made nothing yet.
  if (record.state == WorktreeState::creating)
    return verdict(Standing::unverifiable, "it was never finished");
  if (!is_listed) return verdict(Standing::orphan, "git no longer lists it, and nothing is at its path");
  // Our lock keeps git from pruning it, so that git goes on listing it. That its parent directory is there
  // tells a removed directory from a disk that is not mounted.
  if (listed->lock_reason == kOurLockReason && path_exists(record.path.parent_path())) {
    return verdict(Standing::orphan, "its directory was removed");
  }
  return verdict(Standing::unverifiable, "git lists it, but its directory cannot be seen");
}

Result<std::vector<Judgement>> judge_all(Git& git, Registry& registry) {
  auto records = registry.load_all();
  if (!records) return records.error();
  std::vector<Judgement> judgements;
  for (const WorktreeRecord& record : *records) judgements.push_back(judge(git, record));
  return judgements;
}

}  // namespace hedge::worktree
