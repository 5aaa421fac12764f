// The worktree that a plain verb is about, with its configuration and plan.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/manager.h"
#include "cli/services.h"
#include "contract/subject.h"

namespace hedge::cli {

// Of `branch`, or of the directory where the caller stands.
// Errors: refused `worktree_uninitialized`; not_found `worktree_not_found`; those of the configuration.
Result<worktree::WorktreeRecord> find_worktree_record(Services& services, const std::string& branch);
Result<contract::Subject> find_worktree_subject(Services& services, const std::string& branch);

}  // namespace hedge::cli
