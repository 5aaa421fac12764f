// What a run that was killed in the middle of a file leaves in the checkout is nobody's work.
#include "worktree/git/leftovers.h"

#include <csignal>
#include <optional>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"
#include "worktree/seed/tree_copy.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class LeftoversTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto outcome = manager_.create(repository_, "x");
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    record_ = outcome->record;
  }

  // kill -9 between the first file of the copy and the second.
  void kill_in_the_copy() {
    write_text(repository_ / "node_modules/a/index.js", "a");
    write_text(repository_ / "node_modules/b/index.js", "b");
    const pid_t child = ::fork();
    if (child == 0) {
      int asked = 0;
      TreeCopy copy{repository_, record_.path, "node_modules", record_.id};
      copy.space = [&asked](const fs::path&) {
        if (++asked == 2) ::kill(::getpid(), SIGKILL);
        return std::optional<std::uint64_t>(1U << 30);
      };
      (void)copy_tree(copy);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    // Where files share blocks the room is asked for once, and the copy is done at once.
    if (!WIFSIGNALED(status)) fs::rename(record_.path / "node_modules", leftover());
    ASSERT_TRUE(path_exists(leftover()));
  }
  fs::path leftover() const { return record_.path / (".node_modules.hedge-seed-" + record_.id); }

  void expect_that_destroy_leaves_nothing() {
    const auto report = manager_.destroy(repository_, "x");
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_FALSE(path_exists(record_.path));
    EXPECT_EQ(report->recovery_ref, "");
  }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
  WorktreeRecord record_;
};

TEST_F(LeftoversTest, W19_DestroyAfterAKillInTheCopyLeavesNoTrace) {
  kill_in_the_copy();
  EXPECT_EQ(world_.git(record_.path, {"status", "--porcelain"}), "");
  expect_that_destroy_leaves_nothing();
}

TEST_F(LeftoversTest, W19_ItIsNoWorkEvenWhereTheRepositoryAsksGitForEverything) {
  world_.commit_file(record_.path, ".gitignore", "*\n!*/\n!*.js\n!.gitignore\nnode_modules/\n");
  world_.git(repository_, {"merge", "-q", "--ff-only", "x"});
  kill_in_the_copy();
  ASSERT_NE(world_.git(record_.path, {"status", "--porcelain"}), "") << "git shows it";
  write_text(record_.path / "work.js", "w");
  const auto refused = manager_.destroy(repository_, "x");
  ASSERT_FALSE(refused);
  for (const std::string& hint : refused.error().hints())
    EXPECT_EQ(hint.find("hedge-seed"), std::string::npos) << hint;
  DestroyOptions options;
  options.unsaved = UnsavedPolicy::discard;
  const auto report = manager_.destroy(repository_, "x", options);
  ASSERT_TRUE(report) << report.error().to_string();
  const std::string kept = world_.git(repository_, {"ls-tree", "-r", "--name-only", report->recovery_ref});
  EXPECT_NE(kept.find("work.js"), std::string::npos) << kept;
  EXPECT_EQ(kept.find("hedge-seed"), std::string::npos) << kept;
}

TEST_F(LeftoversTest, W19_HalfAnEnvironmentFileOrDatabaseHoldsNothingUp) {
  write_text(record_.path / "..env.hedge.0123456789ab.tmp", "TOKEN=secret\n");
  write_text(record_.path / ("data/.shop.sqlite3.hedge-new-" + record_.id), "half");
  write_text(record_.path / ("data/.shop.sqlite3.hedge-new-" + record_.id + "-journal"), "half");
  EXPECT_EQ(world_.git(record_.path, {"status", "--porcelain"}), "")
      << "`git add .` must not take the secrets";
  expect_that_destroy_leaves_nothing();
}

TEST_F(LeftoversTest, MainsCheckoutHidesThemToo) {
  const auto main = manager_.adopt(repository_);
  ASSERT_TRUE(main) << main.error().to_string();
  write_text(repository_ / "..env.hedge.0123456789ab.tmp", "TOKEN=secret\n");
  EXPECT_EQ(world_.git(repository_, {"status", "--porcelain"}), "");
}

TEST_F(LeftoversTest, WhatIsHiddenIsSaidOnceAndNothingElseIsChanged) {
  const fs::path excludes = repository_ / ".git/info/exclude";
  write_text(excludes, "/mine");
  ASSERT_TRUE(hide_leftovers(repository_ / ".git"));
  const std::string once = read_text(excludes);
  EXPECT_EQ(once.find("/mine\n"), 0U);
  ASSERT_TRUE(hide_leftovers(repository_ / ".git"));
  EXPECT_EQ(read_text(excludes), once);
}

TEST(Leftovers, OtherNamesAreSomebodysWork) {
  EXPECT_TRUE(is_leftover("a/.b.hedge-seed-01JDQ/c/d"));
  EXPECT_TRUE(is_leftover("..env.hedge.0123456789ab.tmp"));
  for (const char* path : {"hedge-seed-", "b.hedge-seed-x", ".env.tmp", "x.0123456789ab.tmp",
                           ".x.0123456789AB.tmp", ".x.0123456789abc.tmp/y", "a.hedge-new"}) {
    EXPECT_FALSE(is_leftover(path)) << path;
  }
}

}  // namespace
}  // namespace hedge::worktree::test
