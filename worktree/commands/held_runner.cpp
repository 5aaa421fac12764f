#include "worktree/commands/held_runner.h"

#include <utility>

namespace hedge::worktree {

Result<CommandOutput> HeldRunner::run(const CommandLine& command) {
  if (!lock_) return runner_.run(command);
  CommandLine held = command;
  held.inherited.push_back(lock_->descriptor());
  held.ends_with_caller = true;
  return runner_.run(held);
}

CommandHold::CommandHold(HeldRunner* runner, FileLock lock) : runner_(runner) {
  if (runner_ != nullptr) runner_->hold(std::move(lock));
  else lock_ = std::move(lock);
}

CommandHold::~CommandHold() {
  if (runner_ != nullptr) runner_->release();
}

}  // namespace hedge::worktree
