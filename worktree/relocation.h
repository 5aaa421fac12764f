// Worktrees and repositories that have moved since the registry last heard of them.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "worktree/git/git.h"
#include "worktree/record.h"
#include "worktree/registry.h"

namespace hedge::worktree {

// The record with the place where git has the worktree now, which `git worktree move` may have changed; as it
// is, if nothing tells of another place. Writes nothing.
WorktreeRecord find_moved(Git& git, WorktreeRecord record);
// As find_moved(), and the registry follows. For whoever holds the worktree's lock.
Result<WorktreeRecord> follow_moved(Git& git, Registry& registry, const WorktreeRecord& record);

// Where a repository is now.
struct RepositoryPlace {
  std::filesystem::path repository;     // the git common dir
  std::filesystem::path main_checkout;  // empty for a bare repository
};
// A record of a repository that was moved as a whole, as it is at its new place.
WorktreeRecord moved_with(WorktreeRecord record, const RepositoryPlace& now);

}  // namespace hedge::worktree
