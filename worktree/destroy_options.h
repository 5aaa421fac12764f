// What destroy is asked, and what it answers.
#pragma once

#include <string>
#include <vector>

#include "worktree/git/unsaved_work.h"
#include "worktree/runner.h"

namespace hedge::worktree {

enum class UnsavedPolicy { refuse, discard };  // discard keeps a recovery ref
enum class BranchPolicy { remove_if_integrated, keep };

struct DestroyOptions {
  UnsavedPolicy unsaved = UnsavedPolicy::refuse;
  BranchPolicy branch = BranchPolicy::remove_if_integrated;
};

struct DestroyReport {
  RemovalReport removal;
  UnsavedWork discarded;             // empty unless UnsavedPolicy::discard let something go
  std::string recovery_ref;          // empty: nothing was at risk
  std::vector<std::string> ignored;  // went with the checkout
};

}  // namespace hedge::worktree
