// hedge edge start: the edge in the background. One that runs already is success.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/file_lock.h"
#include "cli/commands/commands.h"
#include "cli/edge_access.h"
#include "cli/edge_options.h"
#include "cli/edge_process.h"

namespace hedge::cli {
namespace {

// As long as another start may take.
constexpr auto kLockLimit = std::chrono::seconds(20);

class EdgeStartCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("start", "start the edge in the background and wait until it answers");
    declare_edge_options(*verb, options_);
    return verb;
  }

  Result<int> run(Services& services) override {
    // What is wrong with the settings is told here, not in a log file.
    const auto settings = load_settings(options_, services);
    if (!settings) return settings.error();
    const auto paths = edge_paths(*settings, services);
    if (!paths) return paths.error();
    const auto lock =
        FileLock::acquire(paths->state / "edge-start.lock", FileLock::Mode::exclusive, kLockLimit);
    if (!lock) return lock.error();
    const router::EdgeClient running(router::find_control_socket(paths->state, paths->control_socket()));
    const auto before = running.fetch_status();
    if (before && !options_.takeover) return tell(services.output(), *before, true);
    if (!before && before.error().kind() != ErrorKind::unavailable) return before.error();

    const auto program = own_program();
    if (!program) return program.error();
    EdgeLaunch launch;
    launch.argv = as_arguments(options_, services);
    launch.argv.insert(launch.argv.begin(), program->string());
    launch.log = paths->logs_directory() / "edge.log";
    // A takeover keeps the control socket of the edge before.
    const auto control = settings->edge.control.value_or(paths->control_socket());
    const router::EdgeClient client(before ? router::find_control_socket(paths->state, control) : control);
    const auto status = launch_edge(launch, client);
    if (!status) return status.error();
    return tell(services.output(), *status, false);
  }

 private:
  static int tell(Output& output, const router::EdgeStatus& status, bool already_running) {
    if (already_running) output.progress("an edge is already running");
    if (output.json()) {
      nlohmann::json told = status_to_json(status);
      told["command"] = "edge start";
      told["ok"] = true;
      told["already_running"] = already_running;
      output.object(told);
    } else {
      print_status(output, status);
    }
    return 0;
  }

  EdgeOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_edge_start_command() {
  return std::make_unique<EdgeStartCommand>();
}

}  // namespace hedge::cli
