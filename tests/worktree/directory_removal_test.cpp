#include "worktree/git/directory_removal.h"

#include <functional>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace fs = std::filesystem;
namespace {

// As somebody who owns nothing of root's: the caller itself, or a child that has given root up.
bool holds_unprivileged(const std::function<bool()>& body) {
  if (::geteuid() != 0) return body();
  const pid_t child = ::fork();
  constexpr uid_t kNobody = 65534;
  if (child == 0) ::_exit(::setuid(kNobody) == 0 && body() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(DirectoryRemoval, W10_FilesOfAnotherUserAreFoundBeforeAnythingIsTouched) {
  EXPECT_TRUE(holds_unprivileged([] {
    const auto removable = require_removable("/etc");
    return !removable && removable.error().id() == "files_not_removable" &&
           removable.error().kind() == ErrorKind::permission;
  }));
}

TEST(DirectoryRemoval, MovesAsideInOneStepAndReplacesAnEarlierRemainder) {
  const hedge::test::TemporaryDirectory directory;
  const fs::path path = directory / "worktree";
  const fs::path doomed = doomed_path(path, "01X");
  EXPECT_EQ(doomed.parent_path(), path.parent_path()) << "a rename stays on one file system";
  ASSERT_TRUE(ensure_directory(path / "a"));
  ASSERT_TRUE(ensure_directory(doomed / "old"));
  ASSERT_TRUE(move_aside(path, doomed));
  EXPECT_FALSE(path_exists(path));
  EXPECT_TRUE(path_exists(doomed / "a"));
  EXPECT_FALSE(path_exists(doomed / "old"));
}

TEST(DirectoryRemoval, ReadOnlyDirectoriesOfOurOwnAreOpened) {
  const hedge::test::TemporaryDirectory directory;
  const fs::path closed = directory / "tree/closed";
  ASSERT_TRUE(ensure_directory(closed / "deep"));
  fs::permissions(closed, fs::perms::owner_read | fs::perms::owner_exec);
  ASSERT_TRUE(require_removable(directory / "tree"));
  EXPECT_TRUE(remove_tree(directory / "tree"));
  EXPECT_FALSE(path_exists(directory / "tree"));
}

}  // namespace
}  // namespace hedge::worktree
