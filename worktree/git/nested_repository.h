// Repositories that live in a checkout and end with it: its submodules, whose git directories lie in the worktree's
// own, and clones inside of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/git/checkout_info.h"
#include "worktree/git/git.h"

namespace hedge::worktree {

struct NestedRepository {
  std::string label;      // its path in the checkout; of a submodule that is not checked out, its name
  CheckoutInfo checkout;  // `top` is empty, if only the git directory is left
  bool is_tracked = false;          // a submodule; otherwise a clone that git sees as an untracked directory
  bool is_ours = false;             // a worktree of the same repository, where its commits remain
  std::vector<std::string> others;  // commits that others' branches have recorded of it
};

// Directly in the checkout; ignored ones are ignored files. Errors: refused `checkout_broken`; io `git_failed`.
Result<std::vector<NestedRepository>> find_nested_repositories(Git& git, const CheckoutInfo& checkout);

// Commits that only this repository has: on its HEAD, branches and stashes, and neither on a remote's branch nor
// recorded by others. Their tips, as full hashes.
Result<std::vector<std::string>> find_unpushed_tips(Git& git, const NestedRepository& nested);

// What would be lost with `nested` and what is nested in it, for people, at most 1000 lines: "lib: modified: a.c",
// "lib: commit: 12ab34 subject".
Result<std::vector<std::string>> list_nested_work(Git& git, const NestedRepository& nested);

}  // namespace hedge::worktree
