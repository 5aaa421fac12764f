// Which worktree a verb means: the named one, or the one that the caller stands in.
#pragma once

#include <string>

#include "base/result.h"
#include "contract/instruments.h"

namespace hedge::contract {

// Errors: refused `worktree_uninitialized` (no name, and this checkout is not ours); those of worktree::find_worktree().
Result<worktree::WorktreeRecord> find_record(const Instruments& tools, const worktree::Located& located,
                                             const std::string& branch, const std::string& instance = {});

}  // namespace hedge::contract
