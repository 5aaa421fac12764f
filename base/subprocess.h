// The only way in which the program runs another: an argument list, never a shell.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/running_commands.h"
#include "base/unique_fd.h"

namespace hedge {

using Environment = std::map<std::string, std::string>;

// This process's environment.
Environment current_environment();

struct CommandLine {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH (of `environment`, if given)
  std::filesystem::path directory;                // empty: the caller's
  std::optional<Environment> environment;         // the complete one; absent: inherited
  std::vector<int> inherited;                     // descriptors that stay open in the child, such as a lock that it shares
  bool ends_with_caller = false;                  // SIGTERM reaches it when the thread that started it is gone, however that ended
  std::string input;                              // given on standard input, which is /dev/null when this is empty
  std::chrono::milliseconds limit{60000};         // then SIGTERM, and SIGKILL 2 s later, to its process group
  std::size_t max_output_bytes = 16UL << 20;      // of each stream; more is read and dropped
};

struct CommandOutput {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
  bool truncated = false;
  bool ok() const { return exit_code == 0; }
};

// Runs to the end. A non-zero exit is a value, not an error. `running`, if given, knows of it meanwhile.
// Errors: not_found (no such program, or directory), permission, timed_out (with the tail of its standard error), io; cancelled
// `interrupted`, after RunningCommands::end_all().
Result<CommandOutput> run_command(const CommandLine& command, RunningCommands* running = nullptr);

// As above, but a non-zero exit is an Error of kind io whose text has the last lines of its standard error.
Result<std::string> run_for_output(const CommandLine& command);

// The seam for tests that must not run anything.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  virtual Result<CommandOutput> run(const CommandLine& command) = 0;
};

class SystemCommandRunner final : public CommandRunner {
 public:
  Result<CommandOutput> run(const CommandLine& command) override { return run_command(command, &running_); }
  // Thread-safe; see RunningCommands.
  void end_all() { running_.end_all(); }

 private:
  RunningCommands running_;
};

// A child that shares the caller's terminal (wrappers such as `hedge run`): standard streams are inherited, or replaced
// by the descriptors given here.
struct ChildStreams {
  int in = -1;   // -1: inherited
  int out = -1;
  int err = -1;
};
enum class SessionMode {
  same,                   // the caller's session and process group
  same_but_own_group,     // the child leads a process group of its own: a signal to it can reach its children too
  own,                    // it leads a session and process group of its own, which survives the caller
  own_until_parent_dies,  // likewise, and it gets SIGTERM when the thread that started it is gone, however that ended
};
// Starts `command` (its `input`, `limit` and `max_output_bytes` do not apply). Errors: as run_command().
Result<pid_t> spawn_child(const CommandLine& command, const ChildStreams& streams, SessionMode session);
// Waits without a bound (the child is the user's). Returns the exit code, 128 + signal if a signal ended it.
Result<int> wait_for_child(pid_t child);

// The last `lines` lines of a text, for error messages.
std::string tail_of(std::string_view text, std::size_t lines = 5);

}  // namespace hedge
