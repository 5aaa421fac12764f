// K-09: where git's exit code can be an answer, a git that failed is not taken for one.
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/worktree/git_world.h"
#include "worktree/git/branch_choice.h"
#include "worktree/git/checkout_info.h"
#include "worktree/git/integration.h"
#include "worktree/git/unsaved_work.h"

namespace hedge::worktree::test {
namespace {

// The machine's git, but for one command line, which fails as git does when it can't find out.
class FailingRunner final : public CommandRunner {
 public:
  Result<CommandOutput> run(const CommandLine& command) override {
    if (failing.empty() || join(command.argv, " ").find(failing) == std::string::npos) return system_.run(command);
    ++failed;
    return CommandOutput{exit_code, "", "error: the disk is on fire\n", false};
  }
  std::string failing;
  int exit_code = 1;
  int failed = 0;

 private:
  SystemCommandRunner system_;
};

class GitFailureTest : public ::testing::Test {
 protected:
  template <typename Outcome>
  void expect_told(const Outcome& outcome) const {
    EXPECT_GT(runner_.failed, 0) << "nothing asked: " << runner_.failing;
    ASSERT_FALSE(outcome) << runner_.failing;
    EXPECT_EQ(outcome.error().id(), "git_failed");
    EXPECT_NE(outcome.error().to_string().find("the disk is on fire"), std::string::npos);
  }

  GitWorld world_;
  FailingRunner runner_;
  Git git_{runner_, world_.environment()};
  std::filesystem::path repository_ = world_.make_repository("shop");
};

TEST_F(GitFailureTest, K09_ACheckoutThatGitCannotLookAtIsNeitherDetachedNorUnbornNorNoRepository) {
  for (const char* call : {"symbolic-ref", "HEAD^{commit}", "rev-parse"}) {
    runner_.failing = call;
    expect_told(inspect_checkout(git_, repository_));
  }
}

TEST_F(GitFailureTest, K09_ABareRepositoryThatGitCannotLookAtIsNotCalledNone) {
  world_.git(world_.root(), {"clone", "--quiet", "--bare", "shop", "bare.git"});
  runner_.failing = "--is-bare-repository";
  expect_told(inspect_checkout(git_, world_.root() / "bare.git"));
}

TEST_F(GitFailureTest, K09_ABranchThatGitCannotFindOutAboutIsNotANewOne) {
  const auto checkout = inspect_checkout(git_, repository_);
  ASSERT_TRUE(checkout);
  for (const char* call : {"check-ref-format", "refs/heads/x^{commit}", "HEAD^{commit}"}) {
    runner_.failing = call;
    expect_told(choose_branch(git_, *checkout, "x", ""));
  }
}

TEST_F(GitFailureTest, AStartThatIsNoCommitIsTheCallersMistakeAndGitSaysWhatItIs) {
  world_.git(repository_, {"tag", "tree", "HEAD^{tree}"});
  const auto checkout = inspect_checkout(git_, repository_);
  const auto choice = choose_branch(git_, *checkout, "x", "tree");
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().id(), "ref_not_found");
  EXPECT_NE(choice.error().to_string().find("expected commit type"), std::string::npos) << choice.error().to_string();
  runner_.failing = "tree^{commit}";
  runner_.exit_code = 128;
  expect_told(choose_branch(git_, *checkout, "x", "tree"));
}

TEST_F(GitFailureTest, K09_WhetherABranchIsIntegratedIsNotGuessed) {
  world_.git(repository_, {"branch", "x"});
  for (const int code : {1, 128}) {
    runner_.exit_code = code;
    runner_.failing = "--is-ancestor";
    expect_told(is_integrated(git_, repository_, "x"));
  }
}

TEST_F(GitFailureTest, K09_AnOverlookedFileThatCannotBeComparedIsNotCalledUnchanged) {
  world_.git(repository_, {"update-index", "--assume-unchanged", "README"});
  runner_.failing = "update-index -q --refresh";
  expect_told(find_unsaved_work(git_, repository_));
}

TEST_F(GitFailureTest, SilenceWithOneIsNo) {
  const auto answer = git_.ask(repository_, {"config", "--get", "no.such"});
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_FALSE(answer->ok());
  EXPECT_TRUE(git_.ask(repository_, {"rev-parse", "HEAD"})->ok());
}

}  // namespace
}  // namespace hedge::worktree::test
