#include "worktree/worktree_locks.h"

#include <string>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace {

constexpr auto kNoWait = std::chrono::milliseconds(0);
constexpr auto kBirthLimit = std::chrono::seconds(30);  // whoever holds it exclusively only looks and deletes a row
const char* const kBirthLock = "births";

Result<FileLock> acquire(const std::filesystem::path& directory, const std::string& name, FileLock::Mode mode,
                         std::chrono::milliseconds limit) {
  if (auto ready = ensure_directory(directory, 0700); !ready) return ready.error();
  return FileLock::acquire(directory / (name + ".lock"), mode, limit);
}

// A repository's path as a file name: of bounded length, without slashes.
std::string repository_key(const std::filesystem::path& repository) {
  return "repository-" + to_base32(sha256(repository.string())).substr(0, 16);
}

}  // namespace

Result<FileLock> WorktreeLocks::lock_work(std::string_view worktree, std::chrono::milliseconds limit) const {
  return acquire(directory_, "work-" + std::string(worktree), FileLock::Mode::exclusive, limit)
      .with_context("wait for another command on this worktree");
}

Result<FileLock> WorktreeLocks::hold_birth() const {
  return acquire(directory_, kBirthLock, FileLock::Mode::shared, kBirthLimit)
      .with_context("wait for `hedge gc`");
}

Result<FileLock> WorktreeLocks::require_no_birth() const {
  return acquire(directory_, kBirthLock, FileLock::Mode::exclusive, kNoWait)
      .with_context("a worktree is just being made");
}

Result<FileLock> WorktreeLocks::lock_repository(const std::filesystem::path& repository,
                                                std::chrono::milliseconds limit) const {
  return acquire(directory_, repository_key(repository), FileLock::Mode::exclusive, limit)
      .with_context("wait for another command on this repository");
}

Result<FileLock> WorktreeLocks::lock_git(std::string_view worktree, std::chrono::milliseconds limit) const {
  return acquire(directory_, "git-" + std::string(worktree), FileLock::Mode::exclusive, limit)
      .with_context("wait for the git of an earlier run");
}

Result<FileLock> WorktreeLocks::lock_commands(std::string_view worktree,
                                              std::chrono::milliseconds limit) const {
  return acquire(directory_, "commands-" + std::string(worktree), FileLock::Mode::exclusive, limit)
      .with_context("wait for a command that an earlier run left");
}

Result<FileLock> WorktreeLocks::hold_running(std::string_view worktree) const {
  return acquire(directory_, "run-" + std::string(worktree), FileLock::Mode::shared, kNoWait)
      .with_context("this worktree is being destroyed");
}

Result<FileLock> WorktreeLocks::require_idle(std::string_view worktree) const {
  auto lock = acquire(directory_, "run-" + std::string(worktree), FileLock::Mode::exclusive, kNoWait);
  if (lock || lock.error().kind() != ErrorKind::busy) return lock;
  Error refusal =
      Error(ErrorKind::refused, "a command started with `hedge run` is still running in this worktree")
          .with_id("wrapper_running");
  for (const std::string& hint : lock.error().hints()) refusal = std::move(refusal).with_hint(hint);
  return refusal;
}

}  // namespace hedge::worktree
