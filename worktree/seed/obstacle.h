// What a copy must neither be read from nor written through: the directories above and inside of what is seeded.
#pragma once

#include <filesystem>
#include <string>

namespace hedge::worktree {

// Why nothing below one of the directories that lead from `root` to `path` is the checkout's own: "var is a
// symbolic link". `path` itself is not looked at. Empty: all of them are plain directories, or are not there.
std::string find_obstacle(const std::filesystem::path& root, const std::filesystem::path& path);

// The top of a linked worktree. A repository of its own (a dependency installed from source) is none.
bool is_nested_worktree(const std::filesystem::path& directory);

}  // namespace hedge::worktree
