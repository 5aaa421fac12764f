// Which branch a new worktree gets and where it starts. Looked up once, before the birth, and recorded.
#pragma once

#include <string>

#include "base/result.h"
#include "worktree/git/checkout_info.h"

namespace hedge::worktree {

struct BranchChoice {
  BranchOrigin origin = BranchOrigin::existing;
  std::string base;      // full hash
  std::string upstream;  // the remote of a branch that exists only there; empty otherwise
};

// An existing local branch as it is; a branch of exactly one remote, to be tracked; else a new one at `from`, or at the
// caller's HEAD where `from` is empty.
// Errors: invalid_input `branch_invalid`, `branch_ambiguous` (several remotes have it: listed), `ref_not_found`;
// conflict `branch_checked_out` (in a worktree that is not ours, named).
Result<BranchChoice> choose_branch(Git& git, const CheckoutInfo& caller, const std::string& branch,
                                   const std::string& from);

}  // namespace hedge::worktree
