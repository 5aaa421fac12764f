// Kernel locks around the work on one worktree or one repository; they die with the process that holds them.
#pragma once

#include <chrono>
#include <filesystem>
#include <string_view>

#include "base/file_lock.h"
#include "base/result.h"
#include "config/paths.h"

namespace hedge::worktree {

class WorktreeLocks {
 public:
  explicit WorktreeLocks(const config::Paths& paths) : directory_(paths.locks_directory()) {}

  // For create, destroy, up and down of one worktree. Errors: busy `busy`.
  Result<FileLock> lock_work(std::string_view worktree,
                             std::chrono::milliseconds limit = std::chrono::minutes(10)) const;
  // Held shared by every create from before its record is written until something of it is in the ledger or it
  // has failed; exclusively (without waiting) by whoever removes records of which nothing was ever made.
  // Errors: busy.
  Result<FileLock> hold_birth() const;
  Result<FileLock> require_no_birth() const;
  // For git commands that change the repository's configuration, branches or worktrees.
  Result<FileLock> lock_repository(const std::filesystem::path& repository,
                                   std::chrono::milliseconds limit = std::chrono::minutes(2)) const;
  // Held by a `git worktree add` itself, so that it outlives the run that started it. Errors: busy.
  Result<FileLock> lock_git(std::string_view worktree,
                            std::chrono::milliseconds limit = std::chrono::minutes(2)) const;
  // Held by create and destroy, and by every command that create runs, so that none of them outlives its run
  // unnoticed. Errors: busy (its pid in the hint).
  Result<FileLock> lock_commands(std::string_view worktree,
                                 std::chrono::milliseconds limit = std::chrono::minutes(2)) const;
  // Held shared by every running wrapper command (`hedge run`) for as long as it runs.
  Result<FileLock> hold_running(std::string_view worktree) const;
  // Errors: refused `wrapper_running`, if a wrapper command runs (its pid in the hint).
  Result<FileLock> require_idle(std::string_view worktree) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace hedge::worktree
