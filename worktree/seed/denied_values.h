// Keeping main's own addresses out of worktrees: what seed.deny names must not be in a copied environment file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hedge::worktree {

// The first place below `paths` (files and directories, relative to `root`) where one of `patterns` occurs (`*`
// matches anything within a line, case does not count), as "file:line matches pattern"; empty if none. Only files
// named like environment files (`.env*`, `*.env`) are looked at, and in directories whatever copy_tree() would copy.
// What cannot be read is named as well: it might match.
std::string find_denied(const std::filesystem::path& root, const std::vector<std::string>& paths,
                        const std::vector<std::string>& patterns);

}  // namespace hedge::worktree
