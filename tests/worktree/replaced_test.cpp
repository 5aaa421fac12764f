// A worktree that was removed behind our back, and another in its place: git gives the next worktree at the
// same path the same git directory. Nothing of the newcomer's is ours.
#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"
#include "worktree/reaper.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class ReplacedTest : public ::testing::Test {
 protected:
  ReplacedTest() {
    auto outcome = manager_.create(repository_, "feature/b");
    if (!outcome) ADD_FAILURE() << outcome.error().to_string();
    record_ = outcome->record;
    path_ = record_.path;
  }
  void replace() {
    world_.git(repository_, {"worktree", "remove", "-f", "-f", path_.string()});
    world_.git(repository_, {"worktree", "add", "-q", "-b", "other2", path_.string()});
  }
  // Work of every sort in the newcomer.
  void work() {
    commit_ = world_.commit_file(path_, "work", "w\n");
    write_text(path_ / "README", "modified\n");
    write_text(path_ / "new", "untracked\n");
  }
  void expect_newcomer_untouched() {
    EXPECT_EQ(read_text(path_ / "README"), "modified\n");
    EXPECT_EQ(read_text(path_ / "new"), "untracked\n");
    EXPECT_EQ(world_.git(path_, {"rev-parse", "HEAD"}), commit_);
    EXPECT_EQ(world_.git(path_, {"branch", "--show-current"}), "other2");
  }
  bool has_record() { return manager_.registry.find(record_.id)->has_value(); }
  Standing standing() { return judge(manager_.git, *manager_.registry.find(record_.id).value()).standing; }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
  WorktreeRecord record_;
  fs::path path_;
  std::string commit_;
};

TEST_F(ReplacedTest, DestroyLeavesTheNewcomerAlone) {
  replace();
  ASSERT_EQ(world_.git(path_, {"rev-parse", "--absolute-git-dir"}), record_.git_dir.string());
  work();
  const auto report = manager_.destroy(repository_, "feature-b");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->removal.survivors.empty());
  expect_newcomer_untouched();
  EXPECT_FALSE(has_record());
  EXPECT_TRUE(fs::is_empty(token_directory(world_))) << "what lives elsewhere goes";
}

TEST_F(ReplacedTest, DiscardIsNoLeaveToTouchTheNewcomer) {
  replace();
  work();
  DestroyOptions options;
  options.unsaved = UnsavedPolicy::discard;
  ASSERT_TRUE(manager_.destroy(repository_, "feature-b", options));
  expect_newcomer_untouched();
}

TEST_F(ReplacedTest, DestroyLeavesAnAdoptedNewcomersFilesAlone) {
  replace();
  const auto adopted = manager_.adopt(path_);
  ASSERT_TRUE(adopted) << adopted.error().to_string();
  work();
  const std::string variables = read_text(path_ / ".env.hedge");
  ASSERT_NE(variables.find(adopted->record.id), std::string::npos);
  ASSERT_TRUE(manager_.lifecycle.destroy(record_, {}));
  expect_newcomer_untouched();
  EXPECT_EQ(read_text(path_ / ".env.hedge"), variables);
  EXPECT_FALSE(has_record());
  EXPECT_TRUE(manager_.registry.find(adopted->record.id)->has_value());
}

TEST_F(ReplacedTest, TheNewcomersBranchIsNotAnotherNameOfOurs) {
  replace();
  work();
  const auto destroyed = manager_.destroy(repository_, "other2");
  ASSERT_FALSE(destroyed);
  EXPECT_EQ(destroyed.error().id(), "worktree_not_found");
  ASSERT_TRUE(manager_.create(repository_, "third"));
  EXPECT_EQ(manager_.registry.find(record_.id)->value().branch, "feature/b") << "the record does not follow";
}

TEST_F(ReplacedTest, CreateDoesNotTakeTheNewcomerOver) {
  replace();
  work();
  const auto again = manager_.create(repository_, "feature/b");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().id(), "path_occupied");
  expect_newcomer_untouched();
}

TEST_F(ReplacedTest, GcReleasesItOnlyByName) {
  replace();
  EXPECT_EQ(standing(), Standing::unverifiable);
}

TEST_F(ReplacedTest, ADebtAtAPlaceThatAnotherTookIsNotGcs) {
  manager_.token->stop_server();
  ASSERT_TRUE(manager_.destroy(repository_, "feature-b"));
  EXPECT_EQ(standing(), Standing::debt);
  world_.git(repository_, {"worktree", "add", "-q", "-b", "other2", path_.string()});
  EXPECT_EQ(standing(), Standing::unverifiable);
}

TEST_F(ReplacedTest, AnAdoptionThatWasCutShortLeavesTheCheckoutWhereItIs) {
  const fs::path plain = world_.root() / "plain";
  world_.git(repository_, {"worktree", "add", "-q", "-b", "other2", plain.string()});
  const auto located = locate(manager_.git, manager_.registry, plain);
  const auto record = manager_.lifecycle.adopt(*located, manager_.config);
  ASSERT_TRUE(record) << record.error().to_string();
  ASSERT_TRUE(manager_.ledger.begin_making(record->id, {"checkout", record->slug, "{}"}));
  ASSERT_TRUE(manager_.lifecycle.destroy(*record, {}));
  EXPECT_TRUE(path_exists(plain / "README"));
}

// Writes into the checkout while the rest is being removed.
class LateWriter final : public StepObserver {
 public:
  Result<void> on_step(Stage stage, const ResourceSpec& spec) override {
    if (stage == Stage::effected && spec.kind == "token" && !file.empty()) write_text(file, "late\n");
    return {};
  }
  fs::path file;
};

TEST(LateWork, KeepsTheCheckout) {
  const GitWorld world;
  LateWriter writer;
  Manager manager(world, writer);
  const fs::path repository = world.make_repository("shop");
  const auto born = manager.create(repository, "x");
  ASSERT_TRUE(born) << born.error().to_string();
  writer.file = born->record.path / "late";
  const auto report = manager.destroy(repository, "x");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(read_text(writer.file), "late\n");
  ASSERT_FALSE(report->removal.survivors.empty());
  EXPECT_EQ(report->removal.survivors.front().spec.kind, "checkout");
  EXPECT_EQ(report->removal.survivors.front().reason.id(), "unsaved_work");
  EXPECT_TRUE(manager.registry.find(born->record.id)->has_value());
}

}  // namespace
}  // namespace hedge::worktree::test
