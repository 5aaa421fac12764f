// The process that a process stack's programs are children of. One a worktree; it outlives the command that
// started it.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace hedge::worktree {

// `hedge supervise --stack DIRECTORY`: runs what DIRECTORY/plan.json says, records it in
// DIRECTORY/state.json, and returns after SIGTERM or SIGINT (everything ended) or when every process has
// ended by itself. SIGHUP: the plan has changed; only what differs is started, stopped or restarted, and what
// had ended by itself is started again. Nothing is restarted unasked. Requires: a single-threaded process
// that leads its own session, standard streams on /dev/null or a log. Errors: busy, if another supervisor has
// the directory; corrupt `state_unreadable`; not_found, without a plan.
Result<void> run_supervisor(const std::filesystem::path& directory);

}  // namespace hedge::worktree
