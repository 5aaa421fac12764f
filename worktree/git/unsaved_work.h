// What would be lost with a worktree, and how it is kept recoverable when it goes anyway.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/git/git.h"

namespace hedge::worktree {

struct UnsavedWork {
  std::vector<std::string> modified;   // paths
  std::vector<std::string> untracked;  // paths
  std::vector<std::string>
      commits;            // "hash subject", reachable from nowhere but this worktree's HEAD or branch
  std::string operation;  // "rebase", "merge" …; empty: none in progress
  bool is_detached = false;
  bool empty() const { return modified.empty() && untracked.empty() && commits.empty() && operation.empty(); }
};

// Requires: `top` is a checkout's top level. Each list has at most 1000 entries.
Result<UnsavedWork> find_unsaved_work(Git& git, const std::filesystem::path& top);
// Ignored files and directories that go with the worktree (directories collapsed, ending in "/"), at most
// 1000.
Result<std::vector<std::string>> list_ignored(Git& git, const std::filesystem::path& top);

// Points `refs/hedge/recovery/<name>` at a commit that holds HEAD as its first parent and the files as they
// are now, untracked ones included. Returns the ref's name.
Result<std::string> keep_recoverable(Git& git, const std::filesystem::path& top, const std::string& name);

// True if everything on `branch` is in another branch or remote branch: by ancestry, or as one squashed or
// picked change.
Result<bool> is_integrated(Git& git, const std::filesystem::path& repository, const std::string& branch);

}  // namespace hedge::worktree
