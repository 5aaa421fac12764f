// A worktree's identity: a random id made at birth and kept in its own git directory, so that it survives a
// branch switch, a rename and a moved directory, and dies with the worktree.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace hedge::worktree {

// A ULID: 48 bits of milliseconds and 80 random bits, 26 characters of Crockford's base 32 in upper case.
std::string new_identity(WallTime now);
bool is_identity(std::string_view text);

// `<git_dir>/hedge.json`. Absent if the file is not there.
// Errors: corrupt `state_unreadable`.
Result<std::optional<std::string>> load_identity(const std::filesystem::path& git_dir);
Result<void> store_identity(const std::filesystem::path& git_dir, std::string_view id);

}  // namespace hedge::worktree
