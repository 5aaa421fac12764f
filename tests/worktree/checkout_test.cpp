// `hedge create` as far as git is concerned, with the real git.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"
#include "worktree/git/branch_choice.h"
#include "worktree/git/checkout_info.h"
#include "worktree/git/git_environment.h"
#include "worktree/identity.h"
#include "worktree/names.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class CheckoutTest : public ::testing::Test {
 protected:
  std::string lock_reason(const fs::path& path) {
    const auto listed = list_worktrees(manager_.git, repository_ / ".git");
    for (const ListedWorktree& worktree : *listed) {
      if (worktree.path == path) return worktree.lock_reason.value_or("(none)");
    }
    return "(not listed)";
  }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
};

TEST_F(CheckoutTest, MakesBranchAndWorktreeAtTheCallersHead) {
  const auto outcome = manager_.create(repository_, "feature/login");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  const fs::path path = world_.root() / "shop.feature-login";
  EXPECT_EQ(outcome->record.path, path);
  EXPECT_EQ(outcome->record.state, WorktreeState::ready);
  EXPECT_EQ(world_.git(path, {"rev-parse", "--abbrev-ref", "HEAD"}), "feature/login");
  EXPECT_EQ(world_.git(path, {"rev-parse", "HEAD"}), outcome->record.base);
  EXPECT_EQ(**load_identity(outcome->record.git_dir), outcome->record.id);
  EXPECT_EQ(world_.git(path, {"status", "--porcelain"}), "");
}

TEST_F(CheckoutTest, ASecondRunChangesNothing) {
  const auto first = manager_.create(repository_, "x");
  ASSERT_TRUE(first);
  const std::string env = read_text(first->record.path / ".env.hedge");
  const auto second = manager_.create(repository_, "x");
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(second->record.id, first->record.id);
  for (const Change& change : second->changes) EXPECT_EQ(change.action, Action::none) << change.resource;
  EXPECT_EQ(read_text(first->record.path / ".env.hedge"), env);
}

// A large disk elsewhere, which the template reaches through a link.
TEST_F(CheckoutTest, BelowASymbolicLinkIsMadeLockedFoundAgainAndDestroyed) {
  fs::create_directories(world_.root() / "disk");
  fs::create_directory_symlink(world_.root() / "disk", world_.root() / "trees");
  manager_.config.app.directory = "../trees/{slug}";
  const auto first = manager_.create(repository_, "x");
  ASSERT_TRUE(first) << first.error().to_string();
  EXPECT_EQ(first->record.path, world_.root() / "disk/x");
  EXPECT_EQ(lock_reason(world_.root() / "disk/x"), kOurLockReason);
  const auto second = manager_.create(repository_, "x");
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(second->record.id, first->record.id);
  const auto report = manager_.destroy(repository_, "x");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->removal.survivors.empty());
  EXPECT_TRUE(fs::is_empty(world_.root() / "disk"));
}

TEST_F(CheckoutTest, MovedToAnotherDiskAndLinkedBackIsStillItself) {
  manager_.config.app.directory = "../trees/{slug}";
  const auto first = manager_.create(repository_, "x");
  ASSERT_TRUE(first) << first.error().to_string();
  fs::rename(world_.root() / "trees", world_.root() / "disk");
  fs::create_directory_symlink(world_.root() / "disk", world_.root() / "trees");
  const auto second = manager_.create(repository_, "x");
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(second->record.id, first->record.id);
  const auto report = manager_.destroy(repository_, "x");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->removal.survivors.empty());
  EXPECT_TRUE(fs::is_empty(world_.root() / "disk"));
}

TEST_F(CheckoutTest, StartsWhereItIsTold) {
  const std::string first = world_.git(repository_, {"rev-parse", "HEAD"});
  world_.commit_file(repository_, "later", "x");
  const auto outcome = manager_.create(repository_, CreateRequest{"x", first, {}, StackWish::with_stack});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(world_.git(outcome->record.path, {"rev-parse", "HEAD"}), first);
  const auto missing = manager_.create(repository_, CreateRequest{"y", "nowhere", {}, StackWish::with_stack});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().id(), "ref_not_found");
}

TEST_F(CheckoutTest, AnExistingBranchIsTakenAsItIs) {
  world_.git(repository_, {"branch", "old"});
  world_.commit_file(repository_, "later", "x");
  const auto outcome = manager_.create(repository_, "old");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(world_.git(outcome->record.path, {"rev-parse", "HEAD"}),
            world_.git(repository_, {"rev-parse", "old"}));
  EXPECT_EQ(outcome->record.branch_origin, BranchOrigin::existing);
}

TEST_F(CheckoutTest, ABranchOfOneRemoteIsTrackedByName) {
  const fs::path origin = world_.make_repository("origin");
  world_.git(origin, {"checkout", "-q", "-b", "theirs"});
  const std::string commit = world_.commit_file(origin, "file", "x");
  world_.git(repository_, {"remote", "add", "origin", origin.string()});
  world_.git(repository_, {"fetch", "-q", "origin"});
  const auto outcome = manager_.create(repository_, "theirs");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(world_.git(outcome->record.path, {"rev-parse", "HEAD"}), commit);
  EXPECT_EQ(world_.git(outcome->record.path, {"rev-parse", "--abbrev-ref", "theirs@{upstream}"}),
            "origin/theirs");
}

TEST_F(CheckoutTest, ABranchOfTwoRemotesIsAnErrorThatListsThem) {
  const fs::path other = world_.make_repository("other");
  world_.git(other, {"branch", "theirs"});
  for (const char* name : {"one", "two"}) {
    world_.git(repository_, {"remote", "add", name, other.string()});
    world_.git(repository_, {"fetch", "-q", name});
  }
  const auto outcome = manager_.create(repository_, "theirs");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "branch_ambiguous");
  EXPECT_NE(outcome.error().text().find("one, two"), std::string::npos);
}

TEST_F(CheckoutTest, ABranchThatIsCheckedOutElsewhereIsNamed) {
  world_.git(repository_, {"worktree", "add", "-q", "-b", "x", (world_.root() / "plain").string()});
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "branch_checked_out");
  EXPECT_NE(outcome.error().to_string().find((world_.root() / "plain").string()), std::string::npos);
}

TEST_F(CheckoutTest, ASecondInstanceOfABranchStandsDetachedOnTheSameCommit) {
  const auto first = manager_.create(repository_, "x");
  ASSERT_TRUE(first);
  const auto second = manager_.create(repository_, CreateRequest{"x", {}, "two", StackWish::with_stack});
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(second->record.slug, "x-two");
  EXPECT_EQ(world_.git(second->record.path, {"rev-parse", "HEAD"}),
            world_.git(first->record.path, {"rev-parse", "HEAD"}));
}

TEST_F(CheckoutTest, BranchNamesThatCommandLinesFearWork) {
  for (const char* branch :
       {"a'b", "a;b", "a\"b", "a`b`", "emoji-🎉", "e\u0301", "é", "$(touch x)", "a&b", "with\"'both"}) {
    if (world_.git_status(repository_, {"check-ref-format", std::string("refs/heads/") + branch}) != 0)
      continue;
    const auto outcome = manager_.create(repository_, branch);
    ASSERT_TRUE(outcome) << branch << ": " << outcome.error().to_string();
    EXPECT_EQ(world_.git(outcome->record.path, {"symbolic-ref", "HEAD"}),
              std::string("refs/heads/") + branch);
    EXPECT_TRUE(manager_.destroy(repository_, branch));
    EXPECT_FALSE(path_exists(outcome->record.path));
  }
}

TEST_F(CheckoutTest, ANameThatIsNoBranchIsRefusedBeforeAnythingIsMade) {
  for (const char* branch : {"a b", "a..b", "-x", "a~1", "HEAD", "", "a.lock"}) {
    const auto outcome = manager_.create(repository_, branch);
    ASSERT_FALSE(outcome) << branch;
    EXPECT_EQ(outcome.error().id(), "branch_invalid") << branch;
  }
  EXPECT_TRUE(manager_.registry.load_all()->empty());
}

TEST_F(CheckoutTest, W20_ABranchOf200CharactersGetsAShortPath) {
  const auto outcome = manager_.create(repository_, std::string(200, 'b'));
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_LE(outcome->record.path.string().size(), kMaxDirectoryBytes);
}

TEST_F(CheckoutTest, W20_AParentThatIsTooLongIsRefusedBeforeAnythingIsMade) {
  const fs::path deep = world_.make_repository(std::string(95 - world_.root().string().size(), 'd') + "/r");
  const auto outcome = manager_.create(deep, "some-branch");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "path_too_long");
  EXPECT_EQ(world_.git(deep, {"branch", "--list"}), "* main");
}

TEST_F(CheckoutTest, SomethingElseAtThePathIsNotTouched) {
  write_text(world_.root() / "shop.x/precious", "work");
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "path_occupied");
  EXPECT_EQ(read_text(world_.root() / "shop.x/precious"), "work");
}

TEST_F(CheckoutTest, AHookThatFailsDoesNotUndoAWorktreeThatIsThere) {
  write_text(repository_ / ".git/hooks/post-checkout", "#!/bin/sh\necho no >&2\nexit 3\n");
  fs::permissions(repository_ / ".git/hooks/post-checkout", fs::perms::owner_all);
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  const auto checkout = std::ranges::find(outcome->changes, "checkout", &Change::resource);
  EXPECT_NE(checkout->detail.find("hook failed"), std::string::npos) << checkout->detail;
}

TEST_F(CheckoutTest, W09_PruneDoesNotUnregisterAWorktreeWhosePathItCannotSee) {
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(lock_reason(outcome->record.path), "hedge");
  fs::rename(outcome->record.path, world_.root() / "hidden");
  world_.git(repository_, {"worktree", "prune", "-v", "--expire=now"});
  world_.git(repository_, {"gc", "-q", "--prune=now"});
  fs::rename(world_.root() / "hidden", outcome->record.path);
  EXPECT_EQ(world_.git_status(outcome->record.path, {"status"}), 0);
  EXPECT_NE(world_.git_status(repository_, {"worktree", "remove", outcome->record.path.string()}), 0);
  EXPECT_TRUE(manager_.destroy(repository_, "x"));
}

TEST_F(CheckoutTest, ALostLockIsPutBack) {
  const auto outcome = manager_.create(repository_, "x");
  world_.git(repository_, {"worktree", "unlock", outcome->record.path.string()});
  ASSERT_TRUE(manager_.create(repository_, "x"));
  EXPECT_EQ(lock_reason(outcome->record.path), "hedge");
}

TEST_F(CheckoutTest, W16_InheritedGitVariablesLeadNowhere) {
  const fs::path other = world_.make_repository("other");
  const std::string before = world_.git(other, {"rev-parse", "--all"});
  Environment poisoned = world_.environment();
  poisoned["GIT_DIR"] = (other / ".git").string();
  poisoned["GIT_WORK_TREE"] = other.string();
  poisoned["GIT_INDEX_FILE"] = (other / ".git/index").string();
  poisoned["GIT_COMMON_DIR"] = (other / ".git").string();
  poisoned["GIT_CONFIG_COUNT"] = "1";
  poisoned["GIT_CONFIG_KEY_0"] = "core.bare";
  poisoned["GIT_CONFIG_VALUE_0"] = "true";
  Git git(manager_.runner, poisoned);
  const auto info = inspect_checkout(git, repository_);
  ASSERT_TRUE(info) << info.error().to_string();
  EXPECT_EQ(info->top, repository_);
  EXPECT_EQ(info->repository, repository_ / ".git");
  EXPECT_EQ(world_.git(other, {"rev-parse", "--all"}), before);
}

TEST_F(CheckoutTest, W16_EveryVariableThatGitCallsLocalIsTakenOut) {
  Environment environment{{"GIT_SSH_COMMAND", "ssh -x"}, {"GIT_AUTHOR_NAME", "Ada"}, {"PATH", "/bin"}};
  const auto local = world_.git(repository_, {"rev-parse", "--local-env-vars"});
  std::string name;
  int count = 0;
  for (const char c : local + "\n") {
    if (c != '\n') {
      name += c;
      continue;
    }
    environment[name] = "x";
    ++count;
    name.clear();
  }
  EXPECT_GT(count, 5);
  EXPECT_EQ(without_repository_variables(environment).size(), 3U);
}

TEST_F(CheckoutTest, W16_AUsersHookSeesTheNewWorktree) {
  const fs::path seen = world_.root() / "seen";
  write_text(repository_ / ".git/hooks/post-checkout",
             "#!/bin/sh\ngit rev-parse --show-toplevel >> " + seen.string() + "\n");
  fs::permissions(repository_ / ".git/hooks/post-checkout", fs::perms::owner_all);
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(read_text(seen), outcome->record.path.string() + "\n");
}

TEST_F(CheckoutTest, ABareRepositoryHasWorktreesToo) {
  const fs::path bare = world_.root() / "bare.git";
  world_.git(world_.root(), {"clone", "-q", "--bare", repository_.string(), bare.string()});
  const auto outcome = manager_.create(bare, "x");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(outcome->record.path, world_.root() / "bare.x");
  EXPECT_TRUE(outcome->record.main_checkout.empty());
  EXPECT_TRUE(manager_.destroy(bare, "x"));
}

TEST_F(CheckoutTest, ASubmoduleAndASeparateGitDirectoryAreNoWorktrees) {
  const fs::path library = world_.make_repository("library");
  world_.git(repository_,
             {"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.string(), "lib"});
  const auto submodule = inspect_checkout(manager_.git, repository_ / "lib");
  ASSERT_TRUE(submodule);
  EXPECT_EQ(submodule->kind, WorktreeKind::main);
  EXPECT_EQ(submodule->top, repository_ / "lib");
  const fs::path separate = world_.root() / "separate";
  fs::create_directories(separate);
  world_.git(separate, {"init", "-q", "--separate-git-dir", (world_.root() / "elsewhere.git").string()});
  const auto info = inspect_checkout(manager_.git, separate);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->kind, WorktreeKind::main);
  EXPECT_EQ(info->top, separate);
  EXPECT_TRUE(info->head.empty());
}

TEST_F(CheckoutTest, ADirectoryOutsideOfEveryRepositoryIsTold) {
  const auto info = inspect_checkout(manager_.git, world_.root());
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().id(), "not_a_repository");
  EXPECT_EQ(inspect_checkout(manager_.git, world_.root() / "absent").error().id(), "path_missing");
}

TEST_F(CheckoutTest, TheMainCheckoutIsAdoptedAndNeverDestroyed) {
  const auto outcome = manager_.adopt(repository_);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(outcome->record.kind, WorktreeKind::main);
  EXPECT_EQ(**load_identity(repository_ / ".git"), outcome->record.id);
  EXPECT_TRUE(path_exists(repository_ / ".env.hedge"));
  const auto destroyed = manager_.lifecycle.destroy(outcome->record, {});
  ASSERT_FALSE(destroyed);
  EXPECT_EQ(destroyed.error().id(), "main_checkout");
}

TEST_F(CheckoutTest, APlainWorktreeIsAdopted) {
  const fs::path plain = world_.root() / "plain";
  world_.git(repository_, {"worktree", "add", "-q", "-b", "x", plain.string()});
  const auto outcome = manager_.adopt(plain);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(outcome->record.slug, "x");
  EXPECT_EQ(outcome->record.path, plain);
  EXPECT_EQ(lock_reason(plain), "hedge");
  EXPECT_EQ(manager_.adopt(plain)->record.id, outcome->record.id);
}

}  // namespace
}  // namespace hedge::worktree::test
