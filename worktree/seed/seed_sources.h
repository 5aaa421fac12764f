// What the main checkout has to give to a new worktree: ignored directories, and the ignored files that
// .worktreeinclude names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/git/git.h"

namespace hedge::worktree {

// Of `wanted` (relative to `main_checkout`), those that exist and that git ignores: tracked files come with
// the checkout. And last those to which a link or a repository of its own leads (find_obstacle()): the step that
// would copy them says why it does not. Errors: invalid_input `seed_path_invalid`, for a path that leaves the checkout.
Result<std::vector<std::string>> find_seed_paths(Git& git, const std::filesystem::path& main_checkout,
                                                 const std::vector<std::string>& wanted);

// Ignored files that the patterns in `include_file` match (gitignore syntax, git does the matching), without
// those below one of `seed_paths`. Empty if there is no such file. Errors: invalid_input `seed_too_many`,
// beyond 10,000 files.
Result<std::vector<std::string>> find_included_files(Git& git, const std::filesystem::path& main_checkout,
                                                     const std::string& include_file,
                                                     const std::vector<std::string>& seed_paths);

// Lockfiles that the two checkouts do not have alike (also: that only one of them has).
std::vector<std::string> differing_lockfiles(const std::filesystem::path& main_checkout,
                                             const std::filesystem::path& worktree,
                                             const std::vector<std::string>& lockfiles);

// True if `path` is relative, not empty, and stays below its root.
bool stays_inside(const std::filesystem::path& path);

}  // namespace hedge::worktree
