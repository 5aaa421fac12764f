// What a child may inherit of git's environment. A hook, alias or wrapper exports GIT_DIR and friends, and
// they outrank `-C`.
#pragma once

#include "base/subprocess.h"

namespace hedge::worktree {

// Without every GIT_* variable but those that belong to the person and not to a repository (identity,
// transport, tracing, and the files of the user's configuration). For git itself and for every other child.
Environment without_repository_variables(Environment environment);

}  // namespace hedge::worktree
