// hedge run [-w BRANCH] [-s SERVICE] -- CMD…: a command in the worktree's environment, with its exit code.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/group_warden.h"
#include "base/unique_fd.h"
#include "cli/commands/commands.h"
#include "cli/signal_watch.h"
#include "cli/worktree_subject.h"
#include "contract/wrapper_place.h"

namespace hedge::cli {
namespace {

// As env(1) and the shells have it.
constexpr int kCannotTry = 125;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

// Passes on to a command what reaches us, from before it starts.
class SignalForwarding {
 public:
  // The terminal sends its signals to everything in its foreground group by itself; there the command has to stay in our group
  // to be able to read. Elsewhere it leads one of its own, so that a signal reaches its children too.
  SignalForwarding() : is_terminals_(has_terminal()), watch_(signals(), [this](int number) { pass_on(number); }) {}

  SessionMode session() const { return is_terminals_ ? SessionMode::same : SessionMode::same_but_own_group; }

  void has_started(pid_t child) {
    target_ = is_terminals_ ? child : -child;
    if (const int number = early_.exchange(0); number != 0) ::kill(target_, number);
  }

 private:
  static std::vector<int> signals() { return {SIGINT, SIGQUIT, SIGTERM, SIGHUP}; }
  static bool has_terminal() {
    const UniqueFd terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
    return bool(terminal);
  }

  void pass_on(int number) {
    if (is_terminals_ && (number == SIGINT || number == SIGQUIT)) return;
    early_ = number;
    // Whoever takes it out of early_ sends it: this thread, or the one that starts the command just now.
    if (const pid_t target = target_; target != 0 && early_.exchange(0) != 0) ::kill(target, number);
  }

  const bool is_terminals_;
  std::atomic<pid_t> target_{0};  // 0: not started yet
  std::atomic<int> early_{0};     // a signal that came before
  const SignalWatch watch_;       // uses all of the above
};

bool is_below(const std::filesystem::path& path, const std::filesystem::path& top) {
  const auto relative = path.lexically_relative(top);
  return !relative.empty() && *relative.begin() != "..";
}

int code_of(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::not_found: return kNotFound;
    case ErrorKind::permission: return kNotExecutable;
    default: return kCannotTry;
  }
}

Error with_id(Error error) {
  switch (error.kind()) {
    case ErrorKind::not_found: return std::move(error).with_id("command_not_found");
    case ErrorKind::permission: return std::move(error).with_id("command_not_executable");
    default: return error;
  }
}

class RunCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("run", "run a command in the worktree's environment");
    verb->add_option("-w,--worktree", branch_, "the worktree of this branch (default: where you stand)")->type_name("BRANCH");
    verb->add_option("-s,--service", service_, "in this service's container")->type_name("SERVICE");
    verb->add_option("command", argv_, "the command and its arguments, after --")->type_name("CMD")->required();
    verb->positionals_at_end();
    return verb;
  }

  // What fails before the command could run exits with 125, unless a guard refused (then with its own code).
  Result<int> run(Services& services) override {
    auto code = run_there(services);
    if (code || contract::exit_code_of(code.error()) == contract::ExitCode::refused) return code;
    services.output().error(code.error());
    return kCannotTry;
  }

 private:
  Result<int> run_there(Services& services) const {
    const auto subject = find_worktree_subject(services, branch_);
    if (!subject) return subject.error();
    const auto manager = services.manager();
    if (!manager) return manager.error();
    const contract::Instruments& tools = (*manager)->instruments();
    // While this is held nobody destroys the worktree under the command, and nobody stops its stack as unused.
    const auto hold = tools.locks.hold_running(subject->record.id);
    if (!hold) return hold.error();
    const auto still_there = tools.registry.find(subject->record.id);
    if (!still_there) return still_there.error();
    if (!still_there->has_value()) {
      return Error(ErrorKind::not_found, "worktree " + subject->record.slug + " was destroyed meanwhile")
          .with_id("worktree_not_found");
    }
    if (auto touched = tools.registry.touch(subject->record.id); !touched) return touched.error();
    auto place = contract::wrapper_place(tools, *subject, service_);
    if (!place) return place.error();
    if (const auto here = services.directory(); here && is_below(*here, subject->record.path)) place->directory = *here;
    return start(services, tools, *place, *hold);
  }

  Result<int> start(Services& services, const contract::Instruments& tools, const worktree::WrapperPlace& place,
                    const FileLock& hold) const {
    const bool has_terminal = ::isatty(STDIN_FILENO) == 1 && services.output().terminal();
    const worktree::Wrapper wrapper(tools.runner, tools.environment, tools.stacks);
    auto command = wrapper.command_line(
        place, argv_, has_terminal ? worktree::Terminal::attached : worktree::Terminal::none);
    if (!command) return command.error();
    command->inherited = {hold.descriptor()};  // it may outlive us
    ChildStreams streams;
    streams.out = services.output().descriptor();
    // We live until it has ended, so that its exit code is ours.
    SignalForwarding signals;
    // A group of its own is not reached by who kills ours.
    std::optional<GroupWarden> warden;
    if (signals.session() == SessionMode::same_but_own_group) {
      auto started = GroupWarden::start(hold.descriptor());
      if (!started) return started.error();
      warden.emplace(std::move(*started));
      // Until the warden knows the group, the command itself hears of our end from the system.
      command->ends_with_caller = true;
    }
    const auto child = spawn_child(*command, streams, signals.session());
    if (!child) {
      services.output().error(with_id(child.error()));
      return code_of(child.error());
    }
    if (warden) warden->watch(*child);
    signals.has_started(*child);
    return wait_for_child(*child);
  }

  std::string branch_;
  std::optional<std::string> service_;
  std::vector<std::string> argv_;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace hedge::cli
