// Which worktree a directory belongs to, and the refusals that keep a command from acting on the wrong one.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "worktree/git/checkout_info.h"
#include "worktree/registry.h"

namespace hedge::worktree {

struct Located {
  CheckoutInfo checkout;
  std::filesystem::path main_checkout;   // empty for a bare repository
  std::optional<WorktreeRecord> record;  // as it is now; absent: this checkout is not registered
  std::optional<WorktreeRecord> outdated;  // as the registry has it, if the worktree has moved since
};

// Finds the checkout around `directory` and its record, by the identity in its git directory; a copied or
// reused git directory is not taken for the original. Writes nothing. Errors: not_found `not_a_repository`;
// refused `checkout_broken` (a registered worktree's directory lost its `.git`), `worktree_duplicated` (a
// copy: two directories name one git directory).
Result<Located> locate(Git& git, Registry& registry, const std::filesystem::path& directory);
// As locate(), for a verb that changes something: the registry and git follow a worktree or a repository that
// has moved.
Result<Located> locate_and_follow(Git& git, Registry& registry, const std::filesystem::path& directory);

// Errors: refused `worktree_uninitialized`, naming `hedge create --adopt` (or `hedge create` in the main
// checkout).
Result<WorktreeRecord> require_initialized(const Located& located);

// A worktree of the same repository, where it is now: by the branch that it has now, else by the recorded branch,
// else by slug or id. With `instance`, that one. Writes nothing. Errors: not_found `worktree_not_found`; invalid_input
// `worktree_ambiguous` (several instances: listed).
Result<WorktreeRecord> find_worktree(Git& git, Registry& registry, const Located& located,
                                     const std::string& name, const std::string& instance = {});

}  // namespace hedge::worktree
