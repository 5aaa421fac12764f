// What an installation made in a checkout: which copies of it may stand for an installation of one's own.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/git/git.h"

namespace hedge::worktree {

// Now, on the clock of the file system that holds `directory`, which writes a file there and removes it.
Result<timespec> file_system_time(const std::filesystem::path& directory);

// The untracked files and directories of `checkout` (relative to it) in which anything changed at `since` or later, and
// those of the same name, such as a second node_modules in which nothing was to be done. An untracked directory is one
// path, but for those that lead to a path of `divided`. Whatever else worked in the checkout meanwhile counts as well:
// too many is the safe side. Errors: those of Git; io, what cannot be read; unsupported, above 2,000,000 files.
Result<std::vector<std::string>> find_changed(Git& git, const std::filesystem::path& checkout, const timespec& since,
                                              const std::vector<std::string>& divided);

}  // namespace hedge::worktree
