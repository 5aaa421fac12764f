// Where in git a directory is: which checkout, of which repository, main or linked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/git/git.h"
#include "worktree/record.h"

namespace hedge::worktree {

// Paths are absolute and canonical (symbolic links resolved).
struct CheckoutInfo {
  std::filesystem::path top;         // the checkout's top level; empty in a bare repository
  std::filesystem::path git_dir;     // of this checkout
  std::filesystem::path repository;  // the git common dir
  // Linked means git-dir differs from the common dir: a submodule or `--separate-git-dir` also has a `.git`
  // file and is main.
  WorktreeKind kind = WorktreeKind::main;
  std::string branch;  // short name; empty if detached
  std::string head;    // full hash; empty before the first commit
};

// Errors: not_found `not_a_repository`; not_found `path_missing`; io `git_failed`.
Result<CheckoutInfo> inspect_checkout(Git& git, const std::filesystem::path& directory);
// As above, and the checkout's top level must be `directory` itself: a directory whose `.git` is gone
// resolves to a repository above it. Errors: refused `checkout_broken`.
Result<CheckoutInfo> inspect_exactly(Git& git, const std::filesystem::path& directory);

// The git directory that the `.git` file of the checkout at `top` names, with an absolute path or
// (worktree.useRelativePaths) a relative one; empty if it has none. Source: gitrepository-layout(5),
// "gitdir: <path>".
std::filesystem::path named_git_dir(const std::filesystem::path& top);

struct ListedWorktree {
  std::filesystem::path path;
  std::string head;
  std::string branch;  // short name; empty if detached or bare
  bool is_bare = false;
  bool is_prunable = false;
  std::optional<std::string> lock_reason;  // absent: not locked; may be empty
};

inline constexpr std::string_view kOurLockReason = "hedge";
inline constexpr std::string_view kHalfMadeLockReason =
    "initializing";  // git's own, while `worktree add` runs

// Where a path leads, whatever links it goes through; what does not exist is kept as it is written. Git lists
// worktrees by it.
std::filesystem::path resolve_links(const std::filesystem::path& path);

// All worktrees of a repository as git knows them; the first is the main one. Source: git-worktree(1),
// porcelain format.
Result<std::vector<ListedWorktree>> list_worktrees(Git& git, const std::filesystem::path& repository);
// The one at `path`, or null. Lifetime: as `worktrees`.
const ListedWorktree* find_listed(const std::vector<ListedWorktree>& worktrees, const std::filesystem::path& path);
// The main checkout's top level; empty for a bare repository.
Result<std::filesystem::path> find_main_checkout(Git& git, const std::filesystem::path& repository);

}  // namespace hedge::worktree
