#include "worktree/stack/process_stack.h"

#include <algorithm>
#include <cerrno>
#include <thread>

#include <fcntl.h>
#include <signal.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "worktree/ports.h"
#include "worktree/stack/child_environment.h"
#include "worktree/stack/process_log.h"
#include "worktree/stack/readiness.h"

namespace hedge::worktree {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(10);
constexpr auto kApplyLimit =
    std::chrono::seconds(15);  // for the supervisor to start and to have started everything
constexpr auto kRecordLimit = std::chrono::seconds(2);  // for the supervisor to write down an exit code
constexpr auto kKillLimit = std::chrono::seconds(5);
constexpr std::size_t kMarkBytes = 16;
constexpr std::size_t kLogTailLines = 5;
constexpr std::uint64_t kLogTailBytes = 64U << 10;  // in which those lines are looked for

std::string fingerprint_of(const PlannedProcess& process, const Environment& own) {
  std::string text = process.directory.string();
  for (const std::string& argument : process.argv) text.append(1, '\0').append(argument);
  for (const auto& [name, value] : own) text.append(1, '\0').append(name).append(1, '=').append(value);
  return to_hex(sha256(text));
}

const SupervisedProcess* find(const std::optional<SupervisorState>& state, const std::string& name) {
  if (!state) return nullptr;
  const auto found = std::find_if(state->processes.begin(), state->processes.end(),
                                  [&name](const SupervisedProcess& process) { return process.name == name; });
  return found == state->processes.end() ? nullptr : &*found;
}

bool is_running(const SupervisedProcess* process) {
  return process != nullptr && !process->exit_code && is_alive(process->identity);
}

bool is_ended(const SupervisedProcess* process) {
  return process != nullptr && process->exit_code.has_value();
}

std::string log_tail(const std::filesystem::path& log) {
  return tail_of(read_end(log, kLogTailBytes), kLogTailLines);
}

// Everything that is still alive of a stack: the recorded processes, their sessions, and what carries the
// stack's mark, which its supervisor does too.
std::vector<ProcessIdentity> find_remains(const SupervisorState& state) {
  std::vector<ProcessIdentity> remains;
  if (!state.mark.empty()) remains = find_marked(kStackMark, state.mark + "/");
  const auto add = [&remains](const ProcessIdentity& process) {
    if (std::find(remains.begin(), remains.end(), process) == remains.end()) remains.push_back(process);
  };
  for (const SupervisedProcess& process : state.processes) {
    if (is_running(&process)) add(process.identity);
    for (const ProcessIdentity& member : find_session(process.identity)) add(member);
  }
  return remains;
}

void signal_all(const std::vector<ProcessIdentity>& processes, int number) {
  for (const ProcessIdentity& process : processes) signal_process(process, number);
}

// True if nothing is left of it.
bool wait_until_gone(const SupervisorState& state, SteadyClock::time_point deadline) {
  while (!find_remains(state).empty()) {
    if (SteadyClock::now() >= deadline) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

bool wait_until_dead(const ProcessIdentity& process, SteadyClock::time_point deadline) {
  while (is_alive(process)) {
    if (SteadyClock::now() >= deadline) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

}  // namespace

ProcessStack::ProcessStack(ProcessStackSpec spec) : spec_(std::move(spec)) {}

ProcessPlan ProcessStack::wanted_plan(std::uint64_t generation, const std::string& mark) const {
  ProcessPlan plan;
  plan.generation = generation;
  plan.mark = mark;
  for (const ProcessSpec& process : spec_.processes) {
    PlannedProcess planned;
    planned.name = process.name;
    planned.argv = process.argv;
    planned.directory = process.directory;
    planned.log = spec_.files.log(process.name);
    planned.stop_limit = process.stop_limit;
    planned.port = process.port;
    Environment own = process.environment;
    own.insert(spec_.environment.begin(), spec_.environment.end());
    if (process.port != 0 && !process.port_variable.empty())
      own[process.port_variable] = std::to_string(process.port);
    // What the caller's shell happens to hold is no reason to restart anything.
    planned.fingerprint = fingerprint_of(planned, own);
    planned.environment = environment_for_process(spec_.inherited, own);
    plan.processes.push_back(std::move(planned));
  }
  return plan;
}

Result<Finding> ProcessStack::check() {
  const auto state = load_state(spec_.files);
  if (!state) return state.error();
  Finding finding;
  if (!*state) {
    finding.presence = Presence::missing;
    finding.problems.push_back(Error(ErrorKind::not_found, "never started").with_id("stack_not_running"));
    return finding;
  }
  if (!is_alive((*state)->supervisor) && !find_remains(**state).empty()) {
    finding.problems.push_back(
        Error(ErrorKind::conflict, "processes outlived their supervisor").with_id("stack_not_running"));
  }
  for (const PlannedProcess& wanted : wanted_plan(0, {}).processes) {
    const SupervisedProcess* process = find(*state, wanted.name);
    if (!is_running(process)) {
      const bool ended = process != nullptr && process->exit_code && !(*state)->stopped;
      const std::string how = ended ? wanted.name + " ended with " + std::to_string(*process->exit_code)
                                    : wanted.name + " does not run";
      finding.problems.push_back(
          Error(ErrorKind::unavailable, how).with_id(ended ? "process_exited" : "stack_not_running"));
    } else if (process->fingerprint != wanted.fingerprint) {
      finding.problems.push_back(Error(ErrorKind::conflict, wanted.name + " runs an older configuration")
                                     .with_id("stack_not_running"));
    } else if (wanted.port != 0) {
      auto answer = probe_once({wanted.port, std::nullopt, {}});
      if (!answer) finding.problems.push_back(std::move(answer).error().with_id("process_not_ready"));
    }
  }
  finding.presence = finding.problems.empty() ? Presence::present : Presence::differs;
  return finding;
}

Result<Change> ProcessStack::converge() {
  const auto finding = check();
  if (!finding) return finding.error();
  Change change{kind(), name(), Action::none, {}};
  if (finding->presence == Presence::present) return change;
  if (!path_exists(spec_.checkout)) {
    return Error(ErrorKind::not_found, "no directory " + spec_.checkout.string()).with_id("path_missing");
  }
  if (auto made = ensure_directory(spec_.files.directory, 0700); !made) return made.error();
  auto state = load_state(spec_.files);
  if (!state) return state.error();
  const bool existed = state->has_value();
  if (!existed || !is_alive((*state)->supervisor)) {
    if (auto ended = end_everything(); !ended) return ended.error();
  }
  if (auto free = require_ports_free(*state); !free) return free.error();
  const auto previous = load_plan(spec_.files);
  if (!previous) return previous.error();
  const std::uint64_t generation = *previous ? (*previous)->generation + 1 : 1;
  const std::string mark = *previous ? (*previous)->mark : to_base32(random_bytes(kMarkBytes));
  if (auto applied = apply(wanted_plan(generation, mark)); !applied) return applied.error();
  if (auto ready = wait_until_all_ready(); !ready) return ready.error();
  change.action = existed ? Action::started : Action::created;
  change.detail =
      std::to_string(spec_.processes.size()) + " processes, logs in " + spec_.files.directory.string();
  return change;
}

Result<void> ProcessStack::require_ports_free(const std::optional<SupervisorState>& state) const {
  for (const ProcessSpec& process : spec_.processes) {
    if (process.port == 0 || is_running(find(state, process.name)) || can_bind_loopback(process.port))
      continue;
    return Error(ErrorKind::conflict, "port " + std::to_string(process.port) + " of " + process.name +
                                          " is used by another program")
        .with_id("port_taken");
  }
  return {};
}

Result<void> ProcessStack::apply(const ProcessPlan& plan) {
  const auto state = load_state(spec_.files);
  if (!state) return state.error();
  if (auto stored = store_plan(spec_.files, plan); !stored) return stored;
  if (*state && signal_process((*state)->supervisor, SIGHUP)) {
    return wait_until_applied(plan.generation, (*state)->supervisor);
  }
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string path = spec_.files.supervisor_log().string();
  const UniqueFd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!null || !log) return Error::from_errno(errno, "open " + path);
  CommandLine command;
  command.argv = spec_.supervisor;
  command.argv.insert(command.argv.end(), {"--stack", spec_.files.directory.string()});
  command.directory = "/";
  command.environment =
      environment_for_process(spec_.inherited, {{std::string(kStackMark), plan.mark + "/"}});
  const auto child = spawn_child(command, {null.get(), log.get(), log.get()}, SessionMode::own);
  if (!child) return Error(child.error()).with_id("stack_supervisor_failed");
  return wait_until_applied(plan.generation, find_process(*child));
}

Result<void> ProcessStack::wait_until_applied(std::uint64_t generation,
                                              std::optional<ProcessIdentity> supervisor) const {
  const auto deadline = SteadyClock::now() + kApplyLimit;
  while (true) {
    // Asked before the state is read: one that has ended has written its last.
    const bool alive = supervisor && is_alive(*supervisor);
    const auto state = load_state(spec_.files);
    if (!state) return state.error();
    if (*state && (*state)->generation == generation) return {};
    if (!alive || SteadyClock::now() >= deadline) {
      return Error(ErrorKind::io,
                   std::string(alive ? "the supervisor does not react: " : "the supervisor ended: ") +
                       log_tail(spec_.files.supervisor_log()))
          .with_id("stack_supervisor_failed");
    }
    std::this_thread::sleep_for(kLook);
  }
}

Result<void> ProcessStack::require_running(const ProcessSpec& process) const {
  auto state = load_state(spec_.files);
  if (!state) return state.error();
  if (is_running(find(*state, process.name))) return {};
  // It has just ended, and its supervisor is about to write down how.
  const auto deadline = SteadyClock::now() + kRecordLimit;
  while (*state && !is_ended(find(*state, process.name)) && is_alive((*state)->supervisor) &&
         SteadyClock::now() < deadline) {
    std::this_thread::sleep_for(kLook);
    state = load_state(spec_.files);
    if (!state) return state.error();
  }
  const SupervisedProcess* now = find(*state, process.name);
  std::string how = process.name + " ended";
  if (now != nullptr && now->exit_code) how += " with " + std::to_string(*now->exit_code);
  if (now != nullptr && !now->problem.empty()) how += ": " + now->problem;
  const auto log = spec_.files.log(process.name);
  if (const std::string tail = log_tail(log); !tail.empty()) how += ": " + tail;
  return Error(ErrorKind::io, how).with_id("process_exited").with_hint("its log is " + log.string());
}

Result<void> ProcessStack::wait_until_all_ready() const {
  for (const ProcessSpec& process : spec_.processes) {
    const auto alive = [this, &process] { return require_running(process); };
    auto ready = process.port == 0
                     ? alive()
                     : wait_until_ready({process.port, process.ready_path, process.ready_limit}, alive);
    if (!ready) {
      return std::move(ready)
          .error()
          .with_context(process.name)
          .with_hint("its log is " + spec_.files.log(process.name).string());
    }
    // Somebody else may have answered on its port.
    if (auto still = alive(); !still) return still;
  }
  return {};
}

Result<std::vector<ServiceStatus>> ProcessStack::load_status() {
  const auto state = load_state(spec_.files);
  if (!state) return state.error();
  std::vector<ServiceStatus> out;
  for (const ProcessSpec& process : spec_.processes) {
    ServiceStatus status;
    status.name = process.name;
    status.port = process.port;
    status.log = spec_.files.log(process.name);
    const SupervisedProcess* now = find(*state, process.name);
    if (is_running(now)) {
      status.state = ServiceState::running;
      status.instance = std::to_string(now->identity.pid);
    } else if (now != nullptr) {
      const bool asked = (*state)->stopped;
      status.state = asked ? ServiceState::stopped : ServiceState::failed;
      if (!asked) status.detail = now->exit_code ? "ended with " + std::to_string(*now->exit_code) : "killed";
    }
    out.push_back(std::move(status));
  }
  return out;
}

// True if anything had to be ended.
Result<bool> ProcessStack::end_everything() {
  auto state = load_state(spec_.files);
  if (!state) return state.error();
  if (!*state) {
    // A run that was killed early leaves a plan, and perhaps a supervisor that has not yet recorded anything.
    const auto plan = load_plan(spec_.files);
    if (!plan) return plan.error();
    if (!*plan) return false;
    state->emplace().mark = (*plan)->mark;
  }
  auto patience = std::chrono::milliseconds(0);
  for (const ProcessSpec& process : spec_.processes) patience = std::max(patience, process.stop_limit);
  bool had = signal_process((*state)->supervisor, SIGTERM);
  if (had && !wait_until_dead((*state)->supervisor, SteadyClock::now() + patience + kKillLimit)) {
    signal_process((*state)->supervisor, SIGKILL);
  }
  const auto remains = find_remains(**state);
  if (remains.empty()) return had;
  signal_all(remains, SIGTERM);
  if (!wait_until_gone(**state, SteadyClock::now() + patience)) {
    const auto deadline = SteadyClock::now() + kKillLimit;
    do {
      signal_all(find_remains(**state), SIGKILL);
    } while (!wait_until_gone(**state, SteadyClock::now() + kLook) && SteadyClock::now() < deadline);
  }
  const auto stubborn = find_remains(**state);
  if (stubborn.empty()) return true;
  return Error(ErrorKind::timed_out, "process " + std::to_string(stubborn.front().pid) + " does not end");
}

Result<Change> ProcessStack::stop() {
  const auto ended = end_everything();
  if (!ended) return ended.error();
  // A supervisor that was killed could not say that this end was wanted.
  auto state = load_state(spec_.files);
  if (state && *state && !(*state)->stopped && *ended) {
    (*state)->stopped = true;
    if (auto stored = store_state(spec_.files, **state); !stored) return stored.error();
  }
  return Change{kind(), name(), *ended ? Action::stopped : Action::none, {}};
}

Result<Change> ProcessStack::remove() {
  const auto ended = end_everything();
  if (!ended) return ended.error();
  const bool existed = path_exists(spec_.files.directory);
  if (auto removed = remove_tree(spec_.files.directory); !removed) return removed.error();
  return Change{kind(), name(), existed ? Action::removed : Action::none, {}};
}

}  // namespace hedge::worktree
