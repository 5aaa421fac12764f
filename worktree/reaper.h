// `hedge gc`: finds worktrees that were removed behind our back. Level-triggered: it looks at what is.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/git/git.h"
#include "worktree/lifecycle.h"
#include "worktree/record.h"

namespace hedge::worktree {

enum class Standing {
  alive,
  debt,          // destroyed, but a server was down and something survives
  orphan,        // its repository answers, git no longer has it, and nothing is at its path
  unborn,        // a run recorded it and nothing of it was ever seen; Lifecycle::forget_unborn() tells if it may go
  unverifiable,  // anything else; only released by name
};
std::string_view to_string(Standing standing);

struct Judgement {
  WorktreeRecord record;  // where it is now
  Standing standing = Standing::unverifiable;
  std::string why;
};

// A listed worktree whose directory is gone counts as orphan if only our own lock keeps git from pruning it, and the
// disk that it was made on is there.
Result<std::vector<Judgement>> judge_all(Git& git, Registry& registry);
Judgement judge(Git& git, const WorktreeRecord& recorded);

}  // namespace hedge::worktree
