// Keeping a worktree's work recoverable when it is destroyed anyway.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "worktree/git/git.h"

namespace hedge::worktree {

// Points `refs/hedge/recovery/<name>` at a commit that holds everything: as its tree the files as they are now,
// untracked ones included; as parents HEAD, the index (where it differs from HEAD; of a conflict all sides, as
// "path~base", "path~ours", "path~theirs"), the commits of an operation in progress, one commit of this same shape for
// each nested repository that has work, and what the reference held before. The commit's message says which parent is
// what. Changes nothing in the checkout. Returns the reference's name.
// Errors: io `git_failed`; nothing has been lost then.
Result<std::string> keep_recoverable(Git& git, const std::filesystem::path& top, const std::string& name);

}  // namespace hedge::worktree
