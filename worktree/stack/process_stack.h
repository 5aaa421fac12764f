// A stack of programs on this machine, under a supervisor of its own.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "worktree/stack/process_plan.h"
#include "worktree/stack/stack.h"

namespace hedge::worktree {

struct ProcessSpec {
  std::string name;
  std::vector<std::string> argv;
  std::filesystem::path directory;  // absolute
  std::string port_variable;        // empty: none is told to it
  std::uint16_t port = 0;           // recorded machine-wide by the caller; 0: it listens on none
  std::optional<std::string> ready_path;
  std::chrono::milliseconds ready_limit{60000};
  std::chrono::milliseconds stop_limit{10000};
  Environment environment;  // its own variables, over the stack's
};

struct ProcessStackSpec {
  std::string name;                // for people: the slug
  std::filesystem::path checkout;  // must exist to start anything
  StackFiles files;
  Environment environment;  // the worktree's variables, complete; they win over `inherited`
  Environment inherited;    // the caller's; scrubbed before use, and no reason to restart anything
  std::vector<std::string> supervisor;  // the command; "--stack DIRECTORY" is appended
  std::vector<ProcessSpec> processes;
};

// check(): present (all run as configured), differs (one has ended, was stopped, runs an older configuration,
// or outlived its supervisor), missing (nothing has ever been started). converge(): errors
// `process_not_ready`, `process_exited` (with the end of its log), `port_taken`, `stack_supervisor_failed`.
// remove(): ends everything, also what outlived its supervisor, and removes the stack's files.
class ProcessStack final : public Stack {
 public:
  explicit ProcessStack(ProcessStackSpec spec);

  std::string name() const override { return spec_.name; }
  Result<Finding> check() override;
  Result<Change> converge() override;
  Result<Change> remove() override;
  Result<std::vector<ServiceStatus>> load_status() override;
  Result<Change> stop() override;

 private:
  ProcessPlan wanted_plan(std::uint64_t generation, const std::string& mark) const;
  Result<void> require_ports_free(const std::optional<SupervisorState>& state) const;
  Result<void> apply(const ProcessPlan& plan);
  Result<void> wait_until_applied(std::uint64_t generation, std::optional<ProcessIdentity> supervisor) const;
  Result<void> wait_until_all_ready() const;
  Result<void> require_running(const ProcessSpec& process) const;
  Result<bool> end_everything();

  ProcessStackSpec spec_;
};

}  // namespace hedge::worktree
