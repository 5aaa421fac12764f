// `hedge destroy` and `hedge gc`: what is refused, what goes, what stays.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"
#include "worktree/git/unsaved_work.h"
#include "worktree/identity.h"
#include "worktree/reaper.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class DestroyTest : public ::testing::Test {
 protected:
  DestroyTest() {
    auto outcome = manager_.create(repository_, "x");
    if (!outcome) ADD_FAILURE() << outcome.error().to_string();
    record_ = outcome->record;
    path_ = record_.path;
  }

  bool has_branch(const std::string& branch) {
    return world_.git_status(repository_, {"rev-parse", "--verify", "--quiet", "refs/heads/" + branch}) == 0;
  }
  // Asserts the refusal and that everything is still there.
  Error refused() {
    const auto report = manager_.destroy(repository_, "x");
    if (report) {
      ADD_FAILURE() << "it was destroyed";
      return Error(ErrorKind::io, "");
    }
    EXPECT_TRUE(path_exists(path_ / "README"));
    EXPECT_TRUE(path_exists(token_directory(world_) / "shop_x"));
    EXPECT_EQ(manager_.routes.load_all()->routes.size(), 1U);
    return report.error();
  }
  static bool has_hint(const Error& error, const std::string& text) {
    return std::ranges::any_of(
        error.hints(), [&text](const std::string& hint) { return hint.find(text) != std::string::npos; });
  }
  DestroyReport discard() {
    DestroyOptions options;
    options.unsaved = UnsavedPolicy::discard;
    auto report = manager_.destroy(repository_, "x", options);
    if (!report) {
      ADD_FAILURE() << report.error().to_string();
      return {};
    }
    EXPECT_FALSE(path_exists(path_));
    EXPECT_EQ(world_.git_status(repository_, {"rev-parse", "--verify", "--quiet", report->recovery_ref}), 0);
    return std::move(*report);
  }
  std::string recovered(const DestroyReport& report, const std::string& file) {
    return world_.git(repository_, {"show", report.recovery_ref + ":" + file});
  }
  void expect_no_trace() {
    EXPECT_FALSE(path_exists(path_));
    EXPECT_TRUE(fs::is_empty(token_directory(world_)));
    EXPECT_TRUE(manager_.routes.load_all()->routes.empty());
    EXPECT_TRUE(manager_.registry.load_all()->empty());
    EXPECT_EQ(world_.git(repository_, {"worktree", "list"}).find("shop.x"), std::string::npos);
  }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
  WorktreeRecord record_;
  fs::path path_;
};

TEST_F(DestroyTest, LeavesNoTraceOfAnUntouchedWorktree) {
  const auto report = manager_.destroy(repository_, "x");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->removal.survivors.empty());
  expect_no_trace();
  EXPECT_FALSE(has_branch("x")) << "ours and empty";
}

TEST_F(DestroyTest, TwiceIsFine) {
  ASSERT_TRUE(manager_.lifecycle.destroy(record_, {}));
  const auto again = manager_.lifecycle.destroy(record_, {});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->removal.changes.empty());
}

TEST_F(DestroyTest, W25_ModifiedFilesAreNotLost) {
  write_text(path_ / "README", "changed\n");
  const Error error = refused();
  EXPECT_EQ(error.id(), "unsaved_work");
  EXPECT_TRUE(has_hint(error, "modified: README"));
  EXPECT_EQ(recovered(discard(), "README"), "changed");
}

TEST_F(DestroyTest, W25_UntrackedFilesAreNotLost) {
  write_text(path_ / "dir/new file", "new\n");
  const Error error = refused();
  EXPECT_EQ(error.id(), "unsaved_work");
  EXPECT_TRUE(has_hint(error, "untracked: dir/new file"));
  EXPECT_EQ(recovered(discard(), "dir/new file"), "new");
}

TEST_F(DestroyTest, W25_CommitsThatAreNowhereElseAreNotLost) {
  const std::string commit = world_.commit_file(path_, "work", "w\n");
  const Error error = refused();
  EXPECT_EQ(error.id(), "unsaved_work");
  EXPECT_TRUE(has_hint(error, "change work"));
  discard();
  EXPECT_TRUE(has_branch("x")) << "a branch that is not integrated stays";
  EXPECT_EQ(world_.git(repository_, {"rev-parse", "x"}), commit);
}

TEST_F(DestroyTest, W25_DetachedCommitsAreNotLost) {
  world_.git(path_, {"switch", "-q", "--detach"});
  const std::string commit = world_.commit_file(path_, "work", "w\n");
  const Error error = refused();
  EXPECT_EQ(error.id(), "unsaved_work");
  EXPECT_TRUE(has_hint(error, "commit on no branch"));
  const auto report = discard();
  EXPECT_EQ(world_.git(repository_, {"rev-parse", report.recovery_ref + "^"}), commit);
}

TEST_F(DestroyTest, W25_AnOperationInProgressIsNotCutShort) {
  world_.commit_file(path_, "README", "ours\n");
  world_.commit_file(repository_, "README", "theirs\n");
  ASSERT_NE(world_.git_status(path_, {"rebase", "main"}), 0);
  const Error error = refused();
  EXPECT_EQ(error.id(), "operation_in_progress");
  EXPECT_NE(error.text().find("rebase"), std::string::npos);
  discard();
}

TEST_F(DestroyTest, IgnoredFilesGoAndAreListedFirst) {
  write_text(path_ / "node_modules/x", "x");
  const auto report = manager_.destroy(repository_, "x");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_NE(std::ranges::find(report->ignored, "node_modules/"), report->ignored.end());
}

TEST_F(DestroyTest, PushedCommitsMayGoAndTheBranchStays) {
  const fs::path origin = world_.root() / "origin.git";
  world_.git(world_.root(), {"init", "-q", "--bare", origin.string()});
  world_.git(repository_, {"remote", "add", "origin", origin.string()});
  world_.commit_file(path_, "work", "w\n");
  world_.git(path_, {"push", "-q", "origin", "x"});
  ASSERT_TRUE(manager_.destroy(repository_, "x"));
  EXPECT_TRUE(has_branch("x")) << "pushed is not integrated";
}

TEST_F(DestroyTest, AMergedBranchGoes) {
  world_.commit_file(path_, "work", "w\n");
  world_.git(repository_, {"merge", "-q", "--no-ff", "-m", "merge", "x"});
  ASSERT_TRUE(manager_.destroy(repository_, "x"));
  EXPECT_FALSE(has_branch("x"));
}

TEST_F(DestroyTest, ASquashedBranchGoes) {
  world_.commit_file(path_, "one", "1\n");
  world_.commit_file(path_, "two", "2\n");
  world_.commit_file(repository_, "other", "o\n");
  world_.git(repository_, {"merge", "-q", "--squash", "x"});
  world_.git(repository_, {"commit", "-q", "-m", "squashed"});
  const auto report = manager_.destroy(repository_, "x");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_FALSE(has_branch("x"));
}

TEST_F(DestroyTest, WhatAMergeCommitChangedIsNotLost) {
  world_.git(repository_, {"branch", "side"});
  world_.commit_file(path_, "one", "1\n");
  world_.git(path_, {"switch", "-q", "side"});
  world_.commit_file(path_, "two", "2\n");
  world_.git(path_, {"switch", "-q", "x"});
  world_.git(path_, {"merge", "-q", "--no-ff", "--no-commit", "side"});
  write_text(path_ / "one", "resolved by hand\n");
  world_.git(path_, {"commit", "-q", "-a", "-m", "merge side"});
  world_.git(repository_, {"cherry-pick", "x^1", "side"});
  EXPECT_EQ(refused().id(), "unsaved_work") << "every commit but the merge is in main";
  discard();
  EXPECT_TRUE(has_branch("x"));
}

TEST_F(DestroyTest, ABranchWithMergesGoesOnceItIsSquashed) {
  world_.commit_file(path_, "one", "1\n");
  world_.commit_file(repository_, "other", "o\n");
  world_.git(path_, {"merge", "-q", "--no-ff", "-m", "merge main", "main"});
  world_.commit_file(path_, "two", "2\n");
  world_.git(repository_, {"merge", "-q", "--squash", "x"});
  world_.git(repository_, {"commit", "-q", "-m", "squashed"});
  ASSERT_TRUE(manager_.destroy(repository_, "x"));
  EXPECT_FALSE(has_branch("x"));
}

TEST_F(DestroyTest, APickedBranchGoes) {
  world_.commit_file(path_, "one", "1\n");
  world_.commit_file(path_, "two", "2\n");
  world_.commit_file(repository_, "other", "o\n");
  world_.git(repository_, {"cherry-pick", "x~1", "x"});
  ASSERT_TRUE(manager_.destroy(repository_, "x"));
  EXPECT_FALSE(has_branch("x"));
}

TEST_F(DestroyTest, KeepBranchKeepsIt) {
  DestroyOptions options;
  options.branch = BranchPolicy::keep;
  ASSERT_TRUE(manager_.destroy(repository_, "x", options));
  EXPECT_TRUE(has_branch("x"));
  expect_no_trace();
}

TEST_F(DestroyTest, ABranchThatWasThereBeforeStays) {
  world_.git(repository_, {"branch", "theirs"});
  ASSERT_TRUE(manager_.create(repository_, "theirs"));
  ASSERT_TRUE(manager_.destroy(repository_, "theirs"));
  EXPECT_TRUE(has_branch("theirs"));
}

TEST_F(DestroyTest, ABranchThatTheWorktreeWasSwitchedToStays) {
  world_.git(repository_, {"switch", "-q", "-c", "develop"});
  world_.commit_file(repository_, "work", "w\n");
  world_.git(repository_, {"switch", "-q", "main"});
  world_.git(repository_, {"merge", "-q", "--no-ff", "-m", "merge", "develop"});
  world_.git(path_, {"switch", "-q", "develop"});
  const auto again = manager_.create(repository_, "develop");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->record.id, record_.id);
  ASSERT_TRUE(manager_.destroy(repository_, "develop"));
  EXPECT_TRUE(has_branch("develop"));
  EXPECT_FALSE(has_branch("x")) << "the birth's own, still empty";
}

TEST_F(DestroyTest, ALockThatIsNotOursIsRespected) {
  world_.git(repository_, {"worktree", "unlock", path_.string()});
  world_.git(repository_, {"worktree", "lock", "--reason", "on a stick", path_.string()});
  const Error error = refused();
  EXPECT_EQ(error.id(), "worktree_locked");
  EXPECT_NE(error.text().find("on a stick"), std::string::npos);
}

TEST_F(DestroyTest, ARunningWrapperIsRespected) {
  const auto running = manager_.locks.hold_running(record_.id);
  ASSERT_TRUE(running);
  EXPECT_EQ(refused().id(), "wrapper_running");
}

TEST_F(DestroyTest, AServerThatIsDownLeavesADebtThatGcPays) {
  manager_.token->stop_server();
  const auto report = manager_.destroy(repository_, "x");
  ASSERT_TRUE(report);
  ASSERT_EQ(report->removal.survivors.size(), 1U);
  EXPECT_TRUE(report->removal.survivors[0].is_debt);
  EXPECT_FALSE(path_exists(path_));
  auto judgements = judge_all(manager_.git, manager_.registry);
  ASSERT_EQ(judgements->size(), 1U);
  EXPECT_EQ(judgements->front().standing, Standing::debt);
  manager_.token->start_server();
  ASSERT_TRUE(manager_.lifecycle.destroy(judgements->front().record, {})->removal.survivors.empty());
  expect_no_trace();
}

TEST_F(DestroyTest, ADebtWhoseNameLivesAgainIsWithdrawn) {
  manager_.token->stop_server();
  ASSERT_TRUE(manager_.destroy(repository_, "x"));
  manager_.token->start_server();
  const auto again = manager_.create(repository_, "x");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->record.id, record_.id);
  EXPECT_EQ(again->record.state, WorktreeState::ready);
  EXPECT_TRUE(path_exists(token_directory(world_) / "shop_x"));
  const auto entries = manager_.ledger.load(record_.id);
  ASSERT_TRUE(entries);
  for (const LedgerEntry& entry : *entries) EXPECT_EQ(entry.state, EntryState::made);
}

TEST_F(DestroyTest, AForeignTokenOfOurNameIsNeverRemoved) {
  write_text(token_directory(world_) / "shop_x", "somebody else");
  ASSERT_TRUE(manager_.destroy(repository_, "x"));
  EXPECT_EQ(read_text(token_directory(world_) / "shop_x"), "somebody else");
}

TEST_F(DestroyTest, GcFindsWhatPlainGitRemoved) {
  world_.git(repository_, {"worktree", "remove", "-f", "-f", path_.string()});
  const auto judgement = judge(manager_.git, *manager_.registry.find(record_.id).value());
  EXPECT_EQ(judgement.standing, Standing::orphan);
  ASSERT_TRUE(manager_.lifecycle.destroy(judgement.record, {}));
  expect_no_trace();
}

TEST_F(DestroyTest, GcFindsWhatRmRemoved) {
  fs::remove_all(path_);
  const auto judgement = judge(manager_.git, *manager_.registry.find(record_.id).value());
  EXPECT_EQ(judgement.standing, Standing::orphan) << judgement.why;
  ASSERT_TRUE(manager_.lifecycle.destroy(judgement.record, {}));
  expect_no_trace();
}

TEST_F(DestroyTest, GcLeavesAloneWhatItCannotVerify) {
  const auto standing = [this] {
    return judge(manager_.git, *manager_.registry.find(record_.id).value()).standing;
  };
  EXPECT_EQ(standing(), Standing::alive);
  fs::rename(repository_, world_.root() / "away");
  EXPECT_EQ(standing(), Standing::unverifiable) << "the clone has vanished";
  fs::rename(world_.root() / "away", repository_);
  fs::remove_all(path_);
  write_text(path_ / "other", "something else took its place");
  EXPECT_EQ(standing(), Standing::unverifiable);
}

TEST_F(DestroyTest, OfAVanishedCloneReleasesEverythingElse) {
  fs::remove_all(repository_);
  fs::remove_all(path_);
  const auto report = manager_.lifecycle.destroy(record_, {});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->removal.survivors.empty());
  EXPECT_TRUE(fs::is_empty(token_directory(world_)));
  EXPECT_TRUE(manager_.registry.load_all()->empty());
}

TEST_F(DestroyTest, CreateAfterRmBringsTheSameWorktreeBack) {
  fs::remove_all(path_);
  const auto again = manager_.create(repository_, "x");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->record.id, record_.id);
  EXPECT_TRUE(path_exists(path_ / "README"));
  EXPECT_TRUE(path_exists(path_ / ".env.hedge"));
}

TEST_F(DestroyTest, W13_DestroyingOneOfFiveLookalikesLeavesFour) {
  const std::vector<std::string> branches{"feature/foo", "feature-foo", "Feature/Foo", "feature.foo",
                                          "feature_foo"};
  for (const std::string& branch : branches) ASSERT_TRUE(manager_.create(repository_, branch)) << branch;
  EXPECT_EQ(std::distance(fs::directory_iterator(token_directory(world_)), fs::directory_iterator()), 6);
  ASSERT_TRUE(manager_.destroy(repository_, "feature.foo"));
  EXPECT_EQ(std::distance(fs::directory_iterator(token_directory(world_)), fs::directory_iterator()), 5);
  EXPECT_EQ(manager_.registry.load_all()->size(), 5U);
}

TEST_F(DestroyTest, AReadOnlyDirectoryOfOurOwnIsNoObstacle) {
  write_text(path_ / "node_modules/ro/file", "x");
  fs::permissions(path_ / "node_modules/ro", fs::perms::owner_read | fs::perms::owner_exec);
  const auto report = manager_.destroy(repository_, "x");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->removal.survivors.empty());
  expect_no_trace();
}

}  // namespace
}  // namespace hedge::worktree::test
