// `hedge destroy --dry-run`: the guards are those of destroy, and nothing is touched.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"
#include "worktree/destroy_rehearsal.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class DestroyRehearsalTest : public ::testing::Test {
 protected:
  DestroyRehearsalTest() {
    auto outcome = manager_.create(repository_, "x");
    if (!outcome) ADD_FAILURE() << outcome.error().to_string();
    record_ = outcome->record;
  }

  Result<DestroyReport> rehearse(const DestroyOptions& options = {}) {
    return rehearse_destroy({manager_.git, manager_.ledger, manager_.kinds, manager_.locks}, record_, options);
  }
  static std::vector<std::string> kinds_of(const RemovalReport& removal) {
    std::vector<std::string> kinds;
    for (const Change& change : removal.changes) kinds.push_back(change.resource);
    return kinds;
  }
  void expect_untouched() {
    EXPECT_TRUE(path_exists(record_.path / "README"));
    EXPECT_TRUE(path_exists(token_directory(world_) / "shop_x"));
    EXPECT_EQ(manager_.registry.find(record_.id)->value().state, WorktreeState::ready);
    EXPECT_EQ(world_.git(repository_, {"for-each-ref", "refs/hedge"}), "");
  }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
  WorktreeRecord record_;
};

TEST_F(DestroyRehearsalTest, TellsWhatDestroyThenRemovesAndRemovesNothing) {
  const auto told = rehearse();
  ASSERT_TRUE(told) << told.error().to_string();
  expect_untouched();
  const auto done = manager_.destroy(repository_, "x");
  ASSERT_TRUE(done);
  EXPECT_EQ(kinds_of(told->removal), kinds_of(done->removal));
  EXPECT_FALSE(told->removal.changes.empty());
}

TEST_F(DestroyRehearsalTest, RefusesWhatDestroyRefuses) {
  write_text(record_.path / "README", "changed\n");
  const auto told = rehearse();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().id(), "unsaved_work");
  EXPECT_EQ(told.error().hints(), manager_.destroy(repository_, "x").error().hints());
  expect_untouched();
}

TEST_F(DestroyRehearsalTest, SaysThatACommandIsRunning) {
  const auto running = manager_.locks.hold_running(record_.id);
  ASSERT_TRUE(running);
  EXPECT_EQ(rehearse().error().id(), "wrapper_running");
}

TEST_F(DestroyRehearsalTest, SaysThatTheLockIsAnothers) {
  world_.git(repository_, {"worktree", "unlock", record_.path.string()});
  world_.git(repository_, {"worktree", "lock", record_.path.string()});
  EXPECT_EQ(rehearse().error().id(), "worktree_locked");
}

TEST_F(DestroyRehearsalTest, WithDiscardMakesNoRecoveryRef) {
  write_text(record_.path / "new", "untracked\n");
  DestroyOptions options;
  options.unsaved = UnsavedPolicy::discard;
  const auto told = rehearse(options);
  ASSERT_TRUE(told) << told.error().to_string();
  EXPECT_EQ(told->discarded.untracked, std::vector<std::string>{"new"});
  EXPECT_EQ(told->recovery_ref, "");
  expect_untouched();
}

TEST_F(DestroyRehearsalTest, ListsTheIgnoredFilesThatWouldGo) {
  write_text(record_.path / "node_modules/x", "x");
  const auto told = rehearse();
  ASSERT_TRUE(told);
  EXPECT_NE(std::ranges::find(told->ignored, "node_modules/"), told->ignored.end());
}

TEST_F(DestroyRehearsalTest, LeavesOutABranchThatIsKept) {
  DestroyOptions options;
  options.branch = BranchPolicy::keep;
  const auto kinds = kinds_of(rehearse(options)->removal);
  EXPECT_EQ(std::ranges::find(kinds, "branch"), kinds.end());
}

TEST_F(DestroyRehearsalTest, OfAPlaceThatAnotherTookOnlyWhatLivesElsewhereWouldGo) {
  world_.git(repository_, {"worktree", "remove", "-f", "-f", record_.path.string()});
  world_.git(repository_, {"worktree", "add", "-q", "-b", "other", record_.path.string()});
  const auto told = rehearse();
  ASSERT_TRUE(told) << told.error().to_string();
  const auto kinds = kinds_of(told->removal);
  EXPECT_EQ(std::ranges::find(kinds, "checkout"), kinds.end());
  EXPECT_NE(std::ranges::find(kinds, "token"), kinds.end());
}

TEST_F(DestroyRehearsalTest, TheMainCheckoutIsRefused) {
  record_.kind = WorktreeKind::main;
  EXPECT_EQ(rehearse().error().id(), "main_checkout");
}

}  // namespace
}  // namespace hedge::worktree::test
