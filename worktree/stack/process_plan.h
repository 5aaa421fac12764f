// What a supervisor shall run, and what it runs: two files through which it and the manager speak.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "worktree/stack/process_identity.h"

namespace hedge::worktree {

// The variable by which a process that outlived its supervisor is found again.
inline constexpr std::string_view kStackMark = "HEDGE_STACK_MARK";

struct PlannedProcess {
  std::string name;
  std::vector<std::string> argv;
  std::filesystem::path directory;
  Environment environment;  // complete
  std::filesystem::path log;
  std::chrono::milliseconds stop_limit{10000};
  std::uint16_t port = 0;
  std::string fingerprint;  // of what the configuration says about it; a running process with another one is
                            // restarted
};

// Written by the manager (0600: environments hold secrets), read by the supervisor at its start and on
// SIGHUP.
struct ProcessPlan {
  std::uint64_t generation = 0;  // counts the manager's wishes
  std::string mark;              // value of kStackMark, random, the stack's
  std::vector<PlannedProcess> processes;
};

struct SupervisedProcess {
  std::string name;
  ProcessIdentity identity;
  std::string fingerprint;
  std::uint16_t port = 0;
  std::optional<int> exit_code;  // absent while it runs; 128 + signal when a signal ended it
  std::string problem;           // why it could not be started; empty otherwise
};

// Written by the supervisor alone.
struct SupervisorState {
  ProcessIdentity supervisor;
  std::uint64_t generation = 0;  // of the plan that is in effect
  std::string mark;
  bool stopped = false;  // it ended because it was asked to
  std::vector<SupervisedProcess> processes;
};

// The files of one stack: <state>/stacks/<worktree id>/…
struct StackFiles {
  std::filesystem::path directory;
  std::filesystem::path plan() const { return directory / "plan.json"; }
  std::filesystem::path state() const { return directory / "state.json"; }
  std::filesystem::path lock() const { return directory / "supervisor.lock"; }
  std::filesystem::path supervisor_log() const { return directory / "supervisor.log"; }
  std::filesystem::path log(std::string_view process) const {
    return directory / (std::string(process) + ".log");
  }
};

// Absent if the file is not there. Errors: corrupt `state_unreadable`.
Result<std::optional<ProcessPlan>> load_plan(const StackFiles& files);
Result<std::optional<SupervisorState>> load_state(const StackFiles& files);
Result<void> store_plan(const StackFiles& files, const ProcessPlan& plan);
Result<void> store_state(const StackFiles& files, const SupervisorState& state);

}  // namespace hedge::worktree
