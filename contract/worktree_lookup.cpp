#include "contract/worktree_lookup.h"

namespace hedge::contract {

Result<worktree::WorktreeRecord> find_record(const Instruments& tools, const worktree::Located& located,
                                             const std::string& branch, const std::string& instance) {
  if (branch.empty()) return worktree::require_initialized(located);
  return worktree::find_worktree(tools.git, tools.registry, located, branch, instance);
}

}  // namespace hedge::contract
