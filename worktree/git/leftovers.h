// What a killed run of ours may leave in a checkout: copies and files that were begun and never put in their place.
// Nobody's work, and with an environment file's secrets in them.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hedge::worktree {

// Begin a temporary name, after "." and the name that it stands for; the worktree's id follows.
inline constexpr std::string_view kSeedInfix = ".hedge-seed-";
inline constexpr std::string_view kDatabaseInfix = ".hedge-new-";

// Names, in gitignore's and glob(7)'s syntax. The last are those of write_file_atomically().
inline constexpr std::array<const char*, 3> kLeftoverNames{
    ".*.hedge-seed-*", ".*.hedge-new-*",
    ".*.[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]."
    "tmp"};

// True if `path`, relative to the checkout, is one of them or lies in one.
bool is_leftover(const std::filesystem::path& path);

// Keeps git from showing them in any checkout of `repository` (its common directory), by info/exclude, which nobody
// commits; a .gitignore that asks for everything may outvote it. Requires: the repository's lock is held.
Result<void> hide_leftovers(const std::filesystem::path& repository);

}  // namespace hedge::worktree
