// hedge edge stop: lets the edge finish what it serves, and waits until it is gone. One that does not run is
// success.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/edge_access.h"
#include "cli/edge_process.h"

namespace hedge::cli {
namespace {

// The edge drains for at most 10 s.
constexpr auto kLimit = std::chrono::seconds(20);
// From the removal of its socket to the end of its process.
constexpr auto kEndingLimit = std::chrono::seconds(5);

class EdgeStopCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    return parent.add_subcommand("stop", "end the edge; open requests get ten seconds to finish");
  }

  Result<int> run(Services& services) override {
    const auto status = fetch_status(services, kEndingLimit);
    const bool is_down = !status && status.error().kind() == ErrorKind::unavailable;
    if (!status && !is_down) return status.error();
    if (status && status->pid <= 1) {
      return Error(ErrorKind::io, "the edge does not tell which process it is").with_id("edge_unresponsive");
    }
    if (status) {
      services.output().progress("ending the edge, process " + std::to_string(status->pid));
      if (auto ended = end_process(static_cast<pid_t>(status->pid), kLimit); !ended) return ended.error();
    }
    Output& output = services.output();
    if (output.json()) {
      output.object({{"command", "edge stop"},
                     {"ok", true},
                     {"was_running", status.has_value()},
                     {"pid", status ? nlohmann::json(status->pid) : nlohmann::json(nullptr)}});
    } else {
      output.line(status ? "the edge has ended" : "no edge was running");
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_edge_stop_command() {
  return std::make_unique<EdgeStopCommand>();
}

}  // namespace hedge::cli
