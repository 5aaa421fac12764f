// Runs the commands of a create so that they cannot be forgotten: each has the worktree's lock as long as it lives, whatever
// becomes of the run that started it.
#pragma once

#include <optional>
#include <utility>

#include "base/file_lock.h"
#include "base/subprocess.h"

namespace hedge::worktree {

class HeldRunner final : public CommandRunner {
 public:
  // Lifetime: `runner` outlives it.
  explicit HeldRunner(CommandRunner& runner) : runner_(runner) {}

  // While a lock is held: the child and its children have it too, and the child is told to end when this process is gone.
  Result<CommandOutput> run(const CommandLine& command) override;

  // One at a time, and only where nothing else runs commands meanwhile.
  void hold(FileLock lock) { lock_ = std::move(lock); }
  void release() { lock_.reset(); }

 private:
  CommandRunner& runner_;
  std::optional<FileLock> lock_;
};

// Holds until it goes. Lifetime: `runner`, if there is one, outlives it.
class CommandHold {
 public:
  CommandHold(HeldRunner* runner, FileLock lock);
  CommandHold(const CommandHold&) = delete;
  CommandHold& operator=(const CommandHold&) = delete;
  ~CommandHold();

 private:
  HeldRunner* runner_;
  std::optional<FileLock> lock_;  // without a runner
};

}  // namespace hedge::worktree
