// What would be lost with a worktree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/git/checkout_info.h"
#include "worktree/git/git.h"

namespace hedge::worktree {

struct UnsavedWork {
  // Paths; also of files that git was told to overlook (skip-worktree, assume-unchanged), and of what is only staged.
  std::vector<std::string> modified;
  std::vector<std::string> untracked;  // paths
  std::vector<std::string>
      commits;  // "hash subject", reachable from nowhere but this worktree's HEAD or branch
  std::vector<std::string> nested;  // "lib: commit: hash subject": in submodules and clones in the checkout
  std::string operation;            // "rebase", "merge" …; empty: none in progress
  bool is_detached = false;
  bool empty() const {
    return modified.empty() && untracked.empty() && commits.empty() && nested.empty() && operation.empty();
  }
};

// Requires: `top` is a checkout's top level. Each list has at most 1000 entries.
Result<UnsavedWork> find_unsaved_work(Git& git, const std::filesystem::path& top);
// The part of it that is in the checkout's files, index and operation, without commits and without what is nested.
Result<UnsavedWork> find_unsaved_files(Git& git, const CheckoutInfo& checkout);
// Ignored files and directories that go with the worktree (directories collapsed, ending in "/"), at most
// 1000.
Result<std::vector<std::string>> list_ignored(Git& git, const std::filesystem::path& top);

}  // namespace hedge::worktree
