// hedge run [-w BRANCH] [-s SERVICE] -- CMD…: a command in the worktree's environment, with its exit code.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

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
    // Ctrl-C reaches the child by itself, for it is in the same process group; the other two only reach us. We live until it
    // has ended, so that its exit code is ours.
    const auto child = spawn_child(*command, streams, SessionMode::same);
    if (!child) {
      services.output().error(with_id(child.error()));
      return code_of(child.error());
    }
    const pid_t process = *child;
    const SignalWatch watch({SIGINT, SIGQUIT, SIGTERM, SIGHUP}, [process](int number) {
      if (number == SIGTERM || number == SIGHUP) ::kill(process, number);
    });
    return wait_for_child(process);
  }

  std::string branch_;
  std::optional<std::string> service_;
  std::vector<std::string> argv_;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace hedge::cli
