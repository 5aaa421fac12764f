#include "base/running_commands.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/subprocess.h"
#include "tests/support/temporary_directory.h"

namespace hedge {
namespace {

using namespace std::chrono_literals;

class RunningCommandsTest : public ::testing::Test {
 protected:
  // Runs `script` on a thread until it has made the file `ready`. Everything that it starts has the lock.
  std::future<Result<CommandOutput>> start(const std::string& script) {
    auto lock = FileLock::acquire(lock_file(), FileLock::Mode::exclusive, 0ms);
    EXPECT_TRUE(lock);
    auto result = std::async(std::launch::async, [this, script, held = std::move(*lock)] {
      CommandLine command;
      command.argv = {"/bin/sh", "-c", script};
      command.directory = directory_ / "";
      command.inherited = {held.descriptor()};
      return run_command(command, &running_);
    });
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!path_exists(directory_ / "ready") && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(path_exists(directory_ / "ready"));
    return result;
  }
  bool everything_is_gone() { return bool(FileLock::acquire(lock_file(), FileLock::Mode::exclusive, 30s)); }
  std::filesystem::path lock_file() const { return directory_ / "lock"; }

  test::TemporaryDirectory directory_;
  RunningCommands running_;
};

TEST_F(RunningCommandsTest, EndsACommandTogetherWithItsChildren) {
  auto command = start("sleep 1000 & touch ready; wait");
  running_.end_all();
  const auto output = command.get();
  ASSERT_TRUE(output);
  EXPECT_EQ(output->exit_code, 128 + 15);
  EXPECT_TRUE(everything_is_gone());
}

TEST_F(RunningCommandsTest, KillsWhatDoesNotHeedTheRequest) {
  auto command = start("trap '' TERM; touch ready; while :; do sleep 0.05; done");
  running_.end_all();
  EXPECT_EQ(command.get()->exit_code, 128 + 9);
  EXPECT_TRUE(everything_is_gone());
}

TEST_F(RunningCommandsTest, StartsNothingAfterTheEnd) {
  running_.end_all();
  CommandLine command;
  command.argv = {"/bin/sh", "-c", "touch started"};
  command.directory = directory_ / "";
  const auto output = run_command(command, &running_);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().id(), "interrupted");
  EXPECT_FALSE(path_exists(directory_ / "started"));
}

TEST_F(RunningCommandsTest, WhatHasEndedBeforeIsNoConcern) {
  CommandLine command;
  command.argv = {"/bin/sh", "-c", "exit 3"};
  EXPECT_EQ(run_command(command, &running_)->exit_code, 3);
  command.argv = {"no-such-program-anywhere"};
  EXPECT_FALSE(run_command(command, &running_));
  running_.end_all();
}

}  // namespace
}  // namespace hedge
