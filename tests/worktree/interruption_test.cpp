// W-18 and W-19: processes that are killed at any point, and processes that run side by side. Each "process"
// is a real one.
#include <functional>
#include <set>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "tests/worktree/git_world.h"
#include "worktree/git/checkout_info.h"
#include "worktree/identity.h"
#include "worktree/plan.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

// Runs `body` in a child process. Returns its exit code, or 128 + signal.
int wait_for(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

pid_t start_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  return child;
}

constexpr int kKilled = 128 + SIGKILL;

// Kills its own process at the n-th step (from 1).
class KillAtStep final : public StepObserver {
 public:
  explicit KillAtStep(int at) : left_(at) {}
  Result<void> on_step(Stage, const ResourceSpec&) override {
    if (--left_ == 0) ::kill(::getpid(), SIGKILL);
    return {};
  }

 private:
  int left_;
};

class InterruptionTest : public ::testing::Test {
 protected:
  InterruptionTest() {
    write_text(repository_ / "node_modules/a/index.js", "a");
    for (int i = 0; i < 20; ++i)
      write_text(repository_ / ("src/" + std::to_string(i)), std::string(1000, 'x'));
    world_.git(repository_, {"add", "."});
    world_.git(repository_, {"commit", "-q", "-m", "sources"});
    install_counting_git();
  }

  // A `git` that counts its calls and, at the wanted one, kills the process that called it.
  void install_counting_git() {
    const fs::path real = world_.git(repository_, {"--exec-path"});
    const fs::path tool = world_.root() / "bin/git";
    write_text(tool,
               "#!/bin/sh\n"
               "cd_state=" +
                   (world_.root() / "bin").string() +
                   "\n"
                   "n=$(($(cat $cd_state/count) + 1)); echo $n > $cd_state/count\n"
                   "if [ $n = $(cat $cd_state/at) ]; then\n"
                   "  case $(cat $cd_state/mode) in\n"
                   "    before) kill -9 $PPID; exit 1;;\n"
                   "    after) " +
                   (real / "git").string() +
                   " \"$@\" >/dev/null 2>&1; kill -9 $PPID; exit 1;;\n"
                   "    orphan) kill -9 $PPID;;\n"
                   "  esac\n"
                   "fi\n"
                   "exec " +
                   (real / "git").string() + " \"$@\"\n");
    fs::permissions(tool, fs::perms::owner_all);
    killing_environment_ = world_.environment();
    killing_environment_["PATH"] = (world_.root() / "bin").string() + ":" + killing_environment_["PATH"];
  }

  void arm(const std::string& mode, int at) const {
    write_text(world_.root() / "bin/mode", mode);
    write_text(world_.root() / "bin/at", std::to_string(at));
    write_text(world_.root() / "bin/count", "0");
  }

  // In a child of its own, with the counting git.
  int run_killable(const std::function<bool(Manager&)>& body, StepObserver& observer) {
    return wait_for(start_child([&] {
      Manager manager(world_, observer, killing_environment_);
      return body(manager);
    }));
  }

  void expect_ready(const std::string& branch, const std::string& when) {
    Manager manager(world_, quiet_);
    const auto outcome = manager.create(repository_, branch);
    ASSERT_TRUE(outcome) << when << ": " << outcome.error().to_string();
    const fs::path path = outcome->record.path;
    EXPECT_EQ(outcome->record.state, WorktreeState::ready) << when;
    EXPECT_EQ(world_.git(path, {"status", "--porcelain"}), "") << when;
    EXPECT_EQ(world_.git(path, {"symbolic-ref", "--short", "HEAD"}), branch) << when;
    EXPECT_EQ(read_text(path / "src/19").size(), 1000U) << when;
    EXPECT_EQ(**load_identity(outcome->record.git_dir), outcome->record.id) << when;
    EXPECT_TRUE(path_exists(path / ".env.hedge")) << when;
    EXPECT_EQ(read_text(path / "node_modules/a/index.js"), "a") << when;
    EXPECT_TRUE(path_exists(token_directory(world_) / ("shop_" + branch))) << when;
    EXPECT_EQ(listed(path).lock_reason, "hedge") << when;
    const auto entries = manager.ledger.load(outcome->record.id);
    ASSERT_TRUE(entries);
    for (const LedgerEntry& entry : *entries) {
      EXPECT_EQ(entry.state, EntryState::made) << when << " " << entry.spec.kind;
    }
  }

  void expect_destroyed(const std::string& branch, const std::string& when) {
    Manager manager(world_, quiet_);
    const auto report = manager.destroy(repository_, branch);
    if (!report) {
      ASSERT_EQ(report.error().id(), "worktree_not_found") << when << ": " << report.error().to_string();
    } else {
      EXPECT_TRUE(report->removal.survivors.empty())
          << when << ": " << report->removal.survivors.front().reason.to_string();
    }
    expect_no_trace(branch, when);
  }

  void expect_no_trace(const std::string& branch, const std::string& when) {
    Manager manager(world_, quiet_);
    EXPECT_NE(world_.git_status(repository_, {"rev-parse", "--verify", "--quiet", "refs/heads/" + branch}), 0)
        << when;
    EXPECT_EQ(world_.git(repository_, {"worktree", "list"}).find("shop." + branch), std::string::npos)
        << when;
    EXPECT_TRUE(manager.registry.load_all()->empty()) << when;
    EXPECT_TRUE(fs::is_empty(token_directory(world_))) << when;
    const std::set<std::string> expected{"bin", "home", "shop", "state", "tokens"};
    for (const auto& entry : fs::directory_iterator(world_.root())) {
      EXPECT_TRUE(expected.contains(entry.path().filename().string())) << when << " left " << entry.path();
    }
  }

  ListedWorktree listed(const fs::path& path) {
    Manager manager(world_, quiet_);
    const auto all = list_worktrees(manager.git, repository_ / ".git");
    for (const ListedWorktree& worktree : *all) {
      if (worktree.path == path) return worktree;
    }
    return {};
  }

  // Kills a run of `body` at its first, second, … point until one gets through, and lets `afterwards` judge
  // each. Returns how many points there were.
  using KillAt = std::function<int(int at)>;
  static int sweep(const KillAt& run, const std::function<void(int at)>& afterwards) {
    constexpr int kMorePointsThanThereAre = 400;
    for (int at = 1; at < kMorePointsThanThereAre; ++at) {
      const int code = run(at);
      afterwards(at);
      if (::testing::Test::HasFailure() || code != kKilled) {
        EXPECT_EQ(code, 0) << "at " << at;
        return at - 1;
      }
    }
    ADD_FAILURE() << "no run got through";
    return 0;
  }

  GitWorld world_;
  QuietObserver quiet_;
  fs::path repository_ = world_.make_repository("shop");
  Environment killing_environment_;
};

TEST_F(InterruptionTest, W19_CreateKilledAtAnyJournalStepConvergesAndThenLeavesNoTrace) {
  arm("before", 0);
  const auto run = [this](int at) {
    KillAtStep killer(at);
    return run_killable([this](Manager& manager) { return bool(manager.create(repository_, "k")); }, killer);
  };
  const int points = sweep(run, [this](int at) {
    expect_ready("k", "create killed at step " + std::to_string(at));
    expect_destroyed("k", "after create killed at step " + std::to_string(at));
  });
  EXPECT_GE(points, 15);
}

TEST_F(InterruptionTest, W19_DestroyAfterCreateWasKilledAtAnyJournalStepLeavesNoTrace) {
  arm("before", 0);
  const auto run = [this](int at) {
    KillAtStep killer(at);
    return run_killable([this](Manager& manager) { return bool(manager.create(repository_, "k")); }, killer);
  };
  sweep(run, [this](int at) { expect_destroyed("k", "create killed at step " + std::to_string(at)); });
}

TEST_F(InterruptionTest, W19_DestroyKilledAtAnyJournalStepIsFinishedByTheNext) {
  arm("before", 0);
  const auto run = [this](int at) {
    expect_ready("k", "before");
    KillAtStep killer(at);
    return run_killable([this](Manager& manager) { return bool(manager.destroy(repository_, "k")); }, killer);
  };
  const int points =
      sweep(run, [this](int at) { expect_destroyed("k", "destroy killed at step " + std::to_string(at)); });
  EXPECT_GE(points, 15);
}

class GitInterruptionTest : public InterruptionTest, public ::testing::WithParamInterface<const char*> {
 protected:
  int killed_create(int at) {
    arm(GetParam(), at);
    return run_killable([this](Manager& manager) { return bool(manager.create(repository_, "k")); }, quiet_);
  }
  int killed_destroy(int at) {
    arm(GetParam(), at);
    return run_killable([this](Manager& manager) { return bool(manager.destroy(repository_, "k")); }, quiet_);
  }
};

TEST_P(GitInterruptionTest, W19_CreateKilledAtAnyGitCommandConvergesAndThenLeavesNoTrace) {
  const int points = sweep([this](int at) { return killed_create(at); },
                           [this](int at) {
                             const std::string when = std::string("create killed ") + GetParam() +
                                                      " git command " + std::to_string(at);
                             if (at % 2 == 0) expect_ready("k", when);
                             expect_destroyed("k", when);
                           });
  EXPECT_GE(points, 10);
}

TEST_P(GitInterruptionTest, W19_DestroyKilledAtAnyGitCommandIsFinishedOrUndone) {
  const auto run = [this](int at) {
    expect_ready("k", "before");
    return killed_destroy(at);
  };
  const int points = sweep(run, [this](int at) {
    const std::string when =
        std::string("destroy killed ") + GetParam() + " git command " + std::to_string(at);
    if (at % 2 == 0) expect_ready("k", when);
    expect_destroyed("k", when);
  });
  EXPECT_GE(points, 5);
}

// "orphan": the git that was started goes on writing after its caller is dead.
INSTANTIATE_TEST_SUITE_P(Killed, GitInterruptionTest, ::testing::Values("before", "after", "orphan"),
                         [](const auto& name) { return std::string(name.param); });

class HalfMadeTest : public InterruptionTest {
 protected:
  // Everything dies while git is writing the new checkout's files: a smudge filter that kills caller and git,
  // once.
  void kill_during_checkout() {
    const fs::path script = world_.root() / "bin/smudge";
    write_text(script, "#!/bin/sh\nif rm " + (world_.root() / "bin/armed").string() +
                           " 2>/dev/null; then kill -9 $(cat " + (world_.root() / "bin/victim").string() +
                           "); kill -9 0; fi\nexec cat\n");
    fs::permissions(script, fs::perms::owner_all);
    world_.commit_file(repository_, ".gitattributes", "src/* filter=killer\n");
    world_.git(repository_, {"config", "filter.killer.smudge", script.string()});
    write_text(world_.root() / "bin/armed", "");
    arm("before", 0);
    const auto body = [this](Manager& manager) {
      write_text(world_.root() / "bin/victim", std::to_string(::getpid()));
      return bool(manager.create(repository_, "k"));
    };
    EXPECT_EQ(run_killable(body, quiet_), kKilled);
    // The rest of the killed process group may need a moment; git's own lock says what it left.
    EXPECT_EQ(listed(world_.root() / "shop.k").lock_reason, "initializing");
  }
};

TEST_F(HalfMadeTest, W19_ACheckoutThatDiedWithItsGitIsMadeAnew) {
  kill_during_checkout();
  expect_ready("k", "after the crash");
  expect_destroyed("k", "after the crash");
}

TEST_F(HalfMadeTest, W19_ACheckoutThatDiedWithItsGitIsDestroyed) {
  kill_during_checkout();
  expect_destroyed("k", "after the crash");
}

TEST_F(InterruptionTest, W18_ParallelCreatesInTwoClonesAllSucceedUnderDifferentNames) {
  const fs::path second = world_.root() / "second/shop";
  fs::create_directories(second.parent_path());
  world_.git(world_.root(), {"clone", "-q", repository_.string(), second.string()});
  std::vector<pid_t> children;
  for (int i = 0; i < 5; ++i) {
    for (const fs::path& clone : {repository_, second}) {
      children.push_back(start_child([this, clone, i] {
        QuietObserver quiet;
        Manager manager(world_, quiet);
        return bool(manager.create(clone, "b" + std::to_string(i)));
      }));
    }
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  Manager manager(world_, quiet_);
  const auto records = *manager.registry.load_all();
  ASSERT_EQ(records.size(), 10U);
  std::set<std::string> databases;
  std::set<fs::path> paths;
  for (const WorktreeRecord& record : records) {
    EXPECT_EQ(record.state, WorktreeState::ready);
    databases.insert(names_of(record, manager.config).database);
    paths.insert(record.path);
    EXPECT_EQ(world_.git(record.path, {"symbolic-ref", "--short", "HEAD"}), record.branch);
  }
  EXPECT_EQ(databases.size(), 10U);
  EXPECT_EQ(paths.size(), 10U);
  EXPECT_EQ(split(world_.git(repository_, {"branch", "--list", "b*"}), '\n').size(), 5U);
}

TEST_F(InterruptionTest, W18_TheSameNameTwiceAtOnceIsOneWorktree) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(start_child([this] {
      QuietObserver quiet;
      Manager manager(world_, quiet);
      return bool(manager.create(repository_, "same"));
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  Manager manager(world_, quiet_);
  EXPECT_EQ(manager.registry.load_all()->size(), 1U);
  expect_ready("same", "after all of them");
}

}  // namespace
}  // namespace hedge::worktree::test
