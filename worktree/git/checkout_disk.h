// Which disk a checkout was made on. A directory that is gone because its disk is not mounted is not a removed one,
// and the mount point is there in both cases.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace hedge::worktree {

// Notes in the checkout's git directory, which stays where the repository is, on which file system the directory
// around the checkout is now. Errors: those of writing a file.
Result<void> remember_disk(const std::filesystem::path& git_dir, const std::filesystem::path& checkout);

// Whether the directory around `checkout` is there and on the file system that was noted. False also where nothing
// was noted, or where the system gives a file system another number each time that it is mounted.
bool is_on_remembered_disk(const std::filesystem::path& git_dir, const std::filesystem::path& checkout);

}  // namespace hedge::worktree
