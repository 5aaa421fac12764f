// Which worktree is which: W-02, W-06, and directories that move, are copied, or are reused.
#include "worktree/identity.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"
#include "worktree/plan.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class IdentityTest : public ::testing::Test {
 protected:
  Result<Located> here(const fs::path& directory) {
    return locate(manager_.git, manager_.registry, directory);
  }
  Result<WorktreeRecord> find(const std::string& name) {
    return find_worktree(manager_.git, manager_.registry, *here(repository_), name);
  }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
};

TEST_F(IdentityTest, W06_SurvivesASwitchARenameADetachedHeadAndARebase) {
  const auto born = manager_.create(repository_, "x");
  ASSERT_TRUE(born);
  const auto path = born->record.path;
  world_.commit_file(path, "README", "ours\n");
  world_.commit_file(repository_, "README", "theirs\n");
  const std::vector<std::vector<std::string>> steps{{"switch", "-q", "-c", "other"},
                                                    {"branch", "-m", "renamed"},
                                                    {"switch", "-q", "--detach"},
                                                    {"switch", "-q", "renamed"}};
  for (const auto& step : steps) {
    world_.git(path, step);
    const auto located = here(path);
    ASSERT_TRUE(located && located->record);
    EXPECT_EQ(located->record->id, born->record.id);
    EXPECT_EQ(located->record->slug, "x");
    EXPECT_EQ(names_of(*located->record, manager_.config).database, "shop_x");
    EXPECT_EQ(find("x")->id, born->record.id);
  }
  EXPECT_EQ(find("renamed")->id, born->record.id);
  ASSERT_NE(world_.git_status(path, {"rebase", "main"}), 0) << "the rebase must stop at its conflict";
  EXPECT_EQ(here(path)->record->id, born->record.id);
  EXPECT_EQ(find("x")->id, born->record.id);
}

TEST_F(IdentityTest, W06_AfterASwitchTheFirstBranchMayHaveAWorktreeOfItsOwn) {
  const auto first = manager_.create(repository_, "x");
  world_.git(first->record.path, {"switch", "-q", "-c", "other"});
  const auto second = manager_.create(repository_, "x");
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_NE(second->record.id, first->record.id);
  EXPECT_NE(second->record.slug, first->record.slug);
  EXPECT_EQ(manager_.registry.find(first->record.id)->value().slug, "x");
}

TEST_F(IdentityTest, W06_SurvivesAMovedDirectory) {
  const auto born = manager_.create(repository_, "x");
  const fs::path moved = world_.root() / "moved";
  fs::rename(born->record.path, moved);
  const auto located = locate_and_follow(manager_.git, manager_.registry, moved);
  ASSERT_TRUE(located && located->record) << (located ? "no record" : located.error().to_string());
  EXPECT_EQ(located->record->id, born->record.id);
  EXPECT_EQ(manager_.registry.find(born->record.id)->value().path, moved);
  EXPECT_NE(world_.git(repository_, {"worktree", "list"}).find(moved.string()), std::string::npos)
      << "git knows too";
  ASSERT_TRUE(manager_.destroy(repository_, "x"));
  EXPECT_FALSE(path_exists(moved));
}

TEST_F(IdentityTest, SurvivesAMovedRepository) {
  const auto main = manager_.adopt(repository_);
  const auto born = manager_.create(repository_, "x");
  const fs::path moved = world_.root() / "renamed";
  fs::rename(repository_, moved);
  world_.git(moved, {"worktree", "repair", born->record.path.string()});
  const auto located = here(moved);
  ASSERT_TRUE(located && located->record);
  EXPECT_EQ(located->record->id, main->record.id);
  const auto linked = here(born->record.path);
  ASSERT_TRUE(linked && linked->record);
  EXPECT_EQ(linked->record->id, born->record.id);
  EXPECT_EQ(linked->record->repository, moved / ".git");
}

TEST_F(IdentityTest, ACopiedRepositoryIsNotTakenForTheOriginal) {
  const auto main = manager_.adopt(repository_);
  ASSERT_TRUE(main);
  const fs::path copy = world_.root() / "copy";
  fs::copy(repository_, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto located = here(copy);
  ASSERT_TRUE(located);
  EXPECT_FALSE(located->record);
  EXPECT_EQ(manager_.registry.find(main->record.id)->value().path, repository_);
}

TEST_F(IdentityTest, ACopiedWorktreeDoesNotStealTheRecord) {
  const auto born = manager_.create(repository_, "x");
  const fs::path copy = world_.root() / "copy";
  fs::copy(born->record.path, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto located = here(copy);
  ASSERT_FALSE(located);
  EXPECT_EQ(located.error().id(), "worktree_duplicated");
  EXPECT_EQ(manager_.registry.find(born->record.id)->value().path, born->record.path);
  const std::string listed = world_.git(repository_, {"worktree", "list"});
  EXPECT_EQ(listed.find(copy.string()), std::string::npos) << "git was told nothing";
  EXPECT_EQ(here(born->record.path)->record->id, born->record.id) << "the original is what it was";
}

TEST_F(IdentityTest, AReusedPathIsANewBirth) {
  const auto first = manager_.create(repository_, "x");
  const fs::path path = first->record.path;
  world_.git(repository_, {"worktree", "remove", "-f", "-f", path.string()});
  world_.git(repository_, {"worktree", "add", "-q", "-b", "y", path.string()});
  const auto located = here(path);
  ASSERT_TRUE(located);
  EXPECT_FALSE(located->record);
  const auto second = manager_.adopt(path);
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_NE(second->record.id, first->record.id);
  // The first one's end must not take the second's checkout along.
  ASSERT_TRUE(manager_.lifecycle.destroy(first->record, {}));
  EXPECT_TRUE(path_exists(path / "README"));
  EXPECT_EQ(here(path)->record->id, second->record.id);
}

TEST_F(IdentityTest, W02_AnUninitialisedWorktreeIsRefusedFromWhereverItIsReached) {
  const fs::path plain = world_.root() / "plain";
  world_.git(repository_, {"worktree", "add", "-q", "-b", "y", plain.string()});
  fs::create_directories(plain / "sub/dir");
  fs::create_directory_symlink(plain, world_.root() / "link");
  for (const fs::path& place :
       {plain, plain / "sub/dir", world_.root() / "link", world_.root() / "link/sub"}) {
    const auto located = here(place);
    ASSERT_TRUE(located) << located.error().to_string();
    const auto record = require_initialized(*located);
    ASSERT_FALSE(record) << place;
    EXPECT_EQ(record.error().id(), "worktree_uninitialized");
    EXPECT_NE(record.error().hints().front().find("hedge create --adopt"), std::string::npos);
  }
  const auto born = manager_.create(repository_, "x");
  EXPECT_TRUE(require_initialized(*here(born->record.path)));
}

TEST_F(IdentityTest, AWorktreeWhoseGitFileIsGoneIsNotTakenForTheRepositoryAroundIt) {
  manager_.config.app.directory = "{slug}.inside";
  const auto born = manager_.create(repository_, "x");
  ASSERT_TRUE(born) << born.error().to_string();
  fs::remove(born->record.path / ".git");
  const auto located = here(born->record.path);
  ASSERT_FALSE(located);
  EXPECT_EQ(located.error().id(), "checkout_broken");
  const auto destroyed = manager_.destroy(repository_, "x");
  ASSERT_FALSE(destroyed);
  EXPECT_EQ(destroyed.error().id(), "checkout_broken");
  EXPECT_TRUE(path_exists(born->record.path / "README")) << "nothing was removed";
}

TEST_F(IdentityTest, NamesFindWorktreesAndSayWhenTheyDoNot) {
  ASSERT_TRUE(manager_.create(repository_, "feature/x"));
  EXPECT_TRUE(find("feature/x"));
  EXPECT_TRUE(find("feature-x"));
  EXPECT_EQ(find("nothing").error().id(), "worktree_not_found");
}

// The slug of one is the branch of the other.
TEST_F(IdentityTest, W13_ABranchIsFoundBeforeASlugOfTheSameName) {
  const auto slashed = manager_.create(repository_, "feature/x");
  const auto dashed = manager_.create(repository_, "feature-x");
  ASSERT_TRUE(slashed && dashed);
  ASSERT_EQ(slashed->record.slug, "feature-x");
  EXPECT_EQ(find("feature-x")->id, dashed->record.id);
  EXPECT_EQ(find("feature/x")->id, slashed->record.id);
  EXPECT_EQ(find(dashed->record.slug)->id, dashed->record.id);
  ASSERT_TRUE(manager_.destroy(repository_, "feature-x"));
  EXPECT_FALSE(fs::exists(dashed->record.path));
  EXPECT_TRUE(fs::exists(slashed->record.path));
  EXPECT_EQ(find("feature-x")->id, slashed->record.id) << "now nothing else has the name";
}

TEST_F(IdentityTest, SeveralInstancesAreToldApart) {
  ASSERT_TRUE(manager_.create(repository_, CreateRequest{"x", {}, "one", StackWish::with_stack}));
  ASSERT_TRUE(manager_.create(repository_, CreateRequest{"x", {}, "two", StackWish::with_stack}));
  EXPECT_EQ(find("x-two")->instance, "two");
  world_.git(world_.root() / "shop.x-one", {"switch", "-q", "--detach"});
  EXPECT_EQ(find("x").error().id(), "worktree_ambiguous");
  EXPECT_EQ(find_worktree(manager_.git, manager_.registry, *here(repository_), "x", "one")->instance,
            "one");
}

}  // namespace
}  // namespace hedge::worktree::test
