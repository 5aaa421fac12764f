// Looking changes nothing: a moved worktree is told where it is, and only a verb that changes something records it.
#include "worktree/relocation.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"
#include "worktree/reaper.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class RelocationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto born = manager_.create(repository_, "x");
    ASSERT_TRUE(born) << born.error().to_string();
    record_ = born->record;
  }

  // Ours are locked, so that git asks to be told twice.
  void move_with_git() {
    world_.git(repository_, {"worktree", "move", "-f", "-f", record_.path.string(), moved_.string()});
  }
  fs::path recorded_path() { return manager_.registry.find(record_.id)->value().path; }
  Result<Located> look(const fs::path& directory) {
    return locate(manager_.git, manager_.registry, directory);
  }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
  fs::path moved_ = world_.root() / "moved";
  WorktreeRecord record_;
};

TEST_F(RelocationTest, LookingFromInsideAMovedWorktreeTellsItsPlaceAndWritesNothing) {
  fs::rename(record_.path, moved_);
  const std::string listed = world_.git(repository_, {"worktree", "list", "--porcelain"});
  const auto located = look(moved_);
  ASSERT_TRUE(located && located->record);
  EXPECT_EQ(located->record->id, record_.id);
  EXPECT_EQ(located->record->path, moved_);
  EXPECT_EQ(located->outdated->path, record_.path);
  EXPECT_EQ(recorded_path(), record_.path) << "the registry is as it was";
  EXPECT_EQ(world_.git(repository_, {"worktree", "list", "--porcelain"}), listed) << "and so is git";
}

TEST_F(RelocationTest, AVerbThatChangesSomethingRecordsThePlaceAndTellsGit) {
  fs::rename(record_.path, moved_);
  const auto located = locate_and_follow(manager_.git, manager_.registry, moved_);
  ASSERT_TRUE(located && located->record);
  EXPECT_FALSE(located->outdated);
  EXPECT_EQ(recorded_path(), moved_);
  const std::string listed = world_.git(repository_, {"worktree", "list", "--porcelain"});
  EXPECT_NE(listed.find("worktree " + moved_.string() + "\n"), std::string::npos);
}

TEST_F(RelocationTest, LookingIntoAMovedRepositoryFindsItsWorktreesAndWritesNothing) {
  const fs::path elsewhere = world_.root() / "renamed";
  ASSERT_TRUE(manager_.adopt(repository_));
  fs::rename(repository_, elsewhere);
  world_.git(elsewhere, {"worktree", "repair", record_.path.string()});
  const auto located = look(elsewhere);
  ASSERT_TRUE(located && located->record);
  const auto found = find_worktree(manager_.git, manager_.registry, *located, "x");
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->id, record_.id);
  EXPECT_EQ(found->repository, elsewhere / ".git");
  EXPECT_EQ(found->git_dir, elsewhere / ".git/worktrees" / record_.git_dir.filename());
  EXPECT_EQ(manager_.registry.find(record_.id)->value().repository, repository_ / ".git");
}

TEST_F(RelocationTest, AWorktreeThatGitMovedIsFoundByItsNameAndWritesNothing) {
  move_with_git();
  const auto found = find_worktree(manager_.git, manager_.registry, *look(repository_), "x");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, moved_);
  EXPECT_EQ(recorded_path(), record_.path);
}

TEST_F(RelocationTest, GcTakesAWorktreeThatGitMovedForAlive) {
  move_with_git();
  const Judgement judgement = judge(manager_.git, *manager_.registry.find(record_.id).value());
  EXPECT_EQ(judgement.standing, Standing::alive) << judgement.why;
  EXPECT_EQ(judgement.record.path, moved_);
}

TEST_F(RelocationTest, GcTakesItForAliveAlsoWhenAnotherWorktreeTookItsOldPlace) {
  move_with_git();
  world_.git(repository_, {"worktree", "add", "-q", "-b", "y", record_.path.string()});
  const Judgement judgement = judge(manager_.git, *manager_.registry.find(record_.id).value());
  EXPECT_EQ(judgement.standing, Standing::alive) << judgement.why;
}

TEST_F(RelocationTest, DestroyOfAWorktreeThatGitMovedRemovesItWhereItIs) {
  move_with_git();
  const auto report = manager_.lifecycle.destroy(record_, {});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->removal.survivors.empty());
  EXPECT_FALSE(path_exists(moved_));
  EXPECT_TRUE(manager_.registry.load_all()->empty());
}

TEST_F(RelocationTest, DestroyOfAWorktreeThatGitMovedStillGuardsTheWorkInIt) {
  move_with_git();
  write_text(moved_ / "new file", "precious");
  const auto report = manager_.lifecycle.destroy(record_, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().id(), "unsaved_work");
  EXPECT_EQ(read_text(moved_ / "new file"), "precious");
}

TEST_F(RelocationTest, CreateOfAWorktreeThatGitMovedConvergesItWhereItIs) {
  move_with_git();
  fs::remove(moved_ / ".env.hedge");
  const auto again = manager_.create(repository_, "x");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->record.id, record_.id);
  EXPECT_EQ(again->record.path, moved_);
  EXPECT_TRUE(path_exists(moved_ / ".env.hedge"));
  EXPECT_FALSE(path_exists(record_.path));
}

TEST_F(RelocationTest, AWorktreeThatStandsWhereItStoodIsLeftAsItIs) {
  EXPECT_EQ(find_moved(manager_.git, record_).path, record_.path);
  fs::remove_all(record_.path);
  EXPECT_EQ(find_moved(manager_.git, record_).path, record_.path) << "removed is not moved";
}

}  // namespace
}  // namespace hedge::worktree::test
