// Whether a branch's work has arrived where others have it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "worktree/git/git.h"

namespace hedge::worktree {

// Branches that others may merge into, as full references: the main checkout's (unless it is `branch`), and every
// remote's default.
Result<std::vector<std::string>> integration_targets(Git& git, const std::filesystem::path& repository,
                                                     const std::string& branch);

// True if everything on `branch` is in another branch or remote branch: by ancestry, or as one squashed or
// picked change.
Result<bool> is_integrated(Git& git, const std::filesystem::path& repository, const std::string& branch);

// Author and committer of commits that Hedge makes for its own purposes: not the user's settings, which may be missing.
Environment own_identity();

}  // namespace hedge::worktree
