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

// An existing local branch as it is; a new one at `from`, where that is given; else one of exactly one
// remote, to be tracked; else a new one at the caller's HEAD. Errors: invalid_input `branch_invalid`,
// `branch_ambiguous` (several remotes have it: listed), `ref_not_found`.
Result<BranchChoice> choose_branch(Git& git, const CheckoutInfo& caller, const std::string& branch,
                                   const std::string& from);

// Where git runs for this checkout's repository: its top level, or the bare repository itself.
std::filesystem::path place_of(const CheckoutInfo& caller);

}  // namespace hedge::worktree
