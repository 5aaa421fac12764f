// The variables that a worktree's programs, its containers and its environment file have. One list for all three.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "worktree/resource_kind.h"

namespace hedge::worktree {

// HEDGE_ID, HEDGE_SLUG, HEDGE_APP, HEDGE_BRANCH (at birth), HEDGE_NONCE, HEDGE_HOST and HEDGE_URL, then [env.variables] with
// their templates expanded; `{secret.NAME}` stays as it is, for expand_secrets() at the moment of use. Pure.
// Errors: invalid_input `template_unknown`, naming the variable.
Result<std::vector<std::pair<std::string, std::string>>> worktree_variables(const PlanInput& input, const Values& values);

// The same as an environment, with secrets expanded. Keep it out of plans, logs and argv.
Environment expand_variables(const std::vector<std::pair<std::string, std::string>>& variables, const WorktreeRecord& record);

}  // namespace hedge::worktree
