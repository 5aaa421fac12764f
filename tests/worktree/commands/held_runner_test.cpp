#include "worktree/commands/held_runner.h"

#include <signal.h>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/temporary_directory.h"
#include "worktree/worktree_locks.h"

namespace hedge::worktree {
namespace {

using namespace std::chrono_literals;

class HeldRunnerTest : public ::testing::Test {
 protected:
  HeldRunnerTest() { paths_.state = directory_ / "state"; }

  // Leaves a process behind, as an interrupted run leaves its migration; returns its pid.
  pid_t run_and_leave_one() {
    CommandLine command;
    command.argv = {"/bin/sh", "-c", "sleep 100 >/dev/null 2>&1 & echo $!"};
    const auto output = held_.run(command);
    return output ? parse_number<pid_t>(trim(output->out)).value_or(0) : 0;
  }
  bool is_free(std::chrono::milliseconds limit) const {
    return static_cast<bool>(WorktreeLocks(paths_).lock_commands("alpha", limit));
  }

  test::TemporaryDirectory directory_;
  config::Paths paths_;
  SystemCommandRunner runner_;
  HeldRunner held_{runner_};
};

TEST_F(HeldRunnerTest, W19_what_a_run_left_keeps_the_worktree_until_it_has_ended) {
  std::optional<CommandHold> hold(std::in_place, &held_, WorktreeLocks(paths_).lock_commands("alpha").value());
  const pid_t left = run_and_leave_one();
  ASSERT_GT(left, 0);
  hold.reset();  // as if the run that started it was killed
  EXPECT_FALSE(is_free(0ms));
  ::kill(left, SIGKILL);
  EXPECT_TRUE(is_free(30s));
}

TEST_F(HeldRunnerTest, without_a_hold_a_command_has_nothing_of_ours) {
  const pid_t left = run_and_leave_one();
  ASSERT_GT(left, 0);
  EXPECT_TRUE(is_free(0ms));
  ::kill(left, SIGKILL);
}

TEST_F(HeldRunnerTest, a_hold_without_a_runner_keeps_the_lock_all_the_same) {
  std::optional<CommandHold> hold(std::in_place, nullptr, WorktreeLocks(paths_).lock_commands("alpha").value());
  EXPECT_FALSE(is_free(0ms));
  hold.reset();
  EXPECT_TRUE(is_free(0ms));
}

}  // namespace
}  // namespace hedge::worktree
