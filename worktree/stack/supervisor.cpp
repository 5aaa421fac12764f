#include "worktree/stack/supervisor.h"

#include <algorithm>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "worktree/stack/process_log.h"
#include "worktree/stack/process_plan.h"
#include "worktree/stack/signal_wait.h"

namespace hedge::worktree {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kLockLimit = std::chrono::seconds(3);   // for the predecessor to let go
constexpr auto kKillLimit = std::chrono::seconds(5);   // after SIGKILL
constexpr auto kLook = std::chrono::milliseconds(25);  // how often a group that is ending is looked at
constexpr auto kLogLook = std::chrono::seconds(1);     // how often the sizes of logs are looked at
constexpr std::initializer_list<int> kSignals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

class Supervisor {
 public:
  Supervisor(StackFiles files, FileLock lock) : files_(std::move(files)), lock_(std::move(lock)) {}

  Result<void> run() {
    state_.supervisor = find_unreaped(::getpid()).value_or(ProcessIdentity{});
    if (auto changed = adopt_plan(); !changed) return changed;
    while (any_running()) {
      const int number = wait_for_signal(kSignals, kLogLook);
      if (number == SIGTERM || number == SIGINT) return stop_all();
      if (number == SIGHUP) {
        if (auto changed = adopt_plan(); !changed) log::error("{}", changed.error().to_string());
      }
      if (reap()) {
        if (auto stored = store_state(files_, state_); !stored) log::error("{}", stored.error().to_string());
      }
      bound_logs();
    }
    end_descendants();
    return {};
  }

 private:
  void bound_logs() const {
    for (const PlannedProcess& process : plan_.processes) {
      if (auto bounded = bound_process_log(process.log); !bounded) log::error("{}", bounded.error().to_string());
    }
  }

  bool any_running() const {
    return std::any_of(state_.processes.begin(), state_.processes.end(), is_running);
  }
  static bool is_running(const SupervisedProcess& process) { return !process.exit_code; }

  SupervisedProcess* find(const std::string& name) {
    const auto found =
        std::find_if(state_.processes.begin(), state_.processes.end(),
                     [&name](const SupervisedProcess& process) { return process.name == name; });
    return found == state_.processes.end() ? nullptr : &*found;
  }

  // Makes what runs equal to the plan: what differs is ended first, because its successor may want its port.
  Result<void> adopt_plan() {
    auto loaded = load_plan(files_);
    if (!loaded) return loaded.error();
    if (!*loaded) return Error(ErrorKind::not_found, "no plan in " + files_.directory.string());
    plan_ = std::move(**loaded);
    reap();
    end(unwanted());
    std::erase_if(state_.processes,
                  [this](const SupervisedProcess& process) { return planned(process.name) == nullptr; });
    for (const PlannedProcess& process : plan_.processes) {
      SupervisedProcess* present = find(process.name);
      if (present != nullptr && is_running(*present)) continue;
      if (present == nullptr) present = &state_.processes.emplace_back();
      *present = start(process);
      log::info("{}: {}", process.name,
                present->problem.empty() ? "started as " + std::to_string(present->identity.pid)
                                         : present->problem);
    }
    state_.generation = plan_.generation;
    state_.mark = plan_.mark;
    return store_state(files_, state_);
  }

  const PlannedProcess* planned(const std::string& name) const {
    const auto found = std::find_if(plan_.processes.begin(), plan_.processes.end(),
                                    [&name](const PlannedProcess& process) { return process.name == name; });
    return found == plan_.processes.end() ? nullptr : &*found;
  }

  std::vector<std::string> unwanted() const {
    std::vector<std::string> names;
    for (const SupervisedProcess& process : state_.processes) {
      const PlannedProcess* wanted = planned(process.name);
      const bool is_same = wanted != nullptr && wanted->fingerprint == process.fingerprint;
      if (is_running(process) && !is_same) names.push_back(process.name);
    }
    return names;
  }

  SupervisedProcess start(const PlannedProcess& process) {
    SupervisedProcess out;
    out.name = process.name;
    out.fingerprint = process.fingerprint;
    out.port = process.port;
    const auto child = spawn(process);
    if (child) {
      // Ours and not waited for: it is found even if it has ended already.
      out.identity = find_unreaped(*child).value_or(ProcessIdentity{*child, 0, {}});
      return out;
    }
    constexpr int kCannotRun = 127;
    out.exit_code = kCannotRun;
    out.problem = child.error().to_string();
    return out;
  }

  Result<pid_t> spawn(const PlannedProcess& process) const {
    auto log = open_process_log(process.log);
    if (!log) return log.error();
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    CommandLine command;
    command.argv = process.argv;
    command.directory = process.directory;
    command.environment = process.environment;
    command.environment->insert_or_assign(std::string(kStackMark), plan_.mark + "/" + process.name);
    const ChildStreams streams{null.get(), log->get(), log->get()};
    return spawn_child(command, streams, SessionMode::own_until_parent_dies);
  }

  // Records who has ended by itself. What it left in its session goes with it: a half service answers
  // wrongly.
  bool reap() {
    bool changed = false;
    while (const pid_t child = next_ended()) {
      SupervisedProcess* process = find_pid(child);
      if (process != nullptr) kill_session(process->identity);
      int status = 0;
      ::waitpid(child, &status, 0);
      if (process == nullptr) continue;
      process->exit_code = exit_code_of(status);
      log::info("{}: ended with {}", process->name, *process->exit_code);
      changed = true;
    }
    return changed;
  }

  // A child that has ended and still holds its number; 0 if there is none.
  static pid_t next_ended() {
    siginfo_t info{};
    const int got = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    return got == 0 ? info.si_pid : 0;
  }

  SupervisedProcess* find_pid(pid_t pid) {
    const auto found = std::find_if(state_.processes.begin(), state_.processes.end(),
                                    [pid](const SupervisedProcess& process) {
                                      return process.identity.pid == pid && is_running(process);
                                    });
    return found == state_.processes.end() ? nullptr : &*found;
  }

  static void kill_session(const ProcessIdentity& leader) {
    const auto deadline = SteadyClock::now() + kKillLimit;
    for (auto members = find_session(leader); !members.empty(); members = find_session(leader)) {
      for (const ProcessIdentity& member : members) signal_process(member, SIGKILL);
      if (SteadyClock::now() >= deadline) return;
      std::this_thread::sleep_for(kLook);
    }
  }

  // SIGTERM to each one's process group, side by side; SIGKILL to what is left of its session when its time
  // is over.
  void end(const std::vector<std::string>& names) {
    const auto begun = SteadyClock::now();
    for (const std::string& name : names) {
      // Not reaped yet, so the number is still this group's.
      if (const SupervisedProcess* process = find(name)) ::kill(-process->identity.pid, SIGTERM);
    }
    for (const std::string& name : names) {
      SupervisedProcess* process = find(name);
      const auto deadline = begun + stop_limit_of(name);
      while (!find_session(process->identity).empty() && SteadyClock::now() < deadline) {
        wait_for_signal({SIGCHLD}, kLook);
      }
      kill_session(process->identity);
    }
    reap();
  }

  std::chrono::milliseconds stop_limit_of(const std::string& name) const {
    const PlannedProcess* process = planned(name);
    return process != nullptr ? process->stop_limit : PlannedProcess().stop_limit;
  }

  Result<void> stop_all() {
    std::vector<std::string> names;
    for (const SupervisedProcess& process : state_.processes) {
      if (is_running(process)) names.push_back(process.name);
    }
    end(names);
    end_descendants();
    state_.stopped = true;
    return store_state(files_, state_);
  }

  // What left its session (a daemon) came to us when its parent ended.
  static void end_descendants() {
    const auto deadline = SteadyClock::now() + kKillLimit;
    for (auto rest = find_descendants(); !rest.empty() && SteadyClock::now() < deadline;
         rest = find_descendants()) {
      for (const ProcessIdentity& process : rest) signal_process(process, SIGKILL);
      wait_for_signal({SIGCHLD}, kLook);
      while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    }
  }

  StackFiles files_;
  FileLock lock_;  // the kernel lets go of it with the process
  ProcessPlan plan_;
  SupervisorState state_;
};

}  // namespace

Result<void> run_supervisor(const std::filesystem::path& directory) {
  block_signals(kSignals);
  const StackFiles files{directory};
  auto lock = FileLock::acquire(files.lock(), FileLock::Mode::exclusive, kLockLimit);
  if (!lock) return std::move(lock).error().with_context("supervise " + directory.string());
  if (auto adopted = adopt_orphans(); !adopted) return adopted;
  return Supervisor(files, std::move(*lock)).run();
}

}  // namespace hedge::worktree
