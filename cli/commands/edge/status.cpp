// hedge edge status: whether an edge runs for this state directory, and where it listens.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/edge_access.h"

namespace hedge::cli {
namespace {

class EdgeStatusCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    return parent.add_subcommand("status", "whether the edge runs, and where it listens");
  }

  Result<int> run(Services& services) override {
    const auto status = fetch_status(services, std::chrono::milliseconds(0));
    if (!status) return status.error();
    Output& output = services.output();
    if (output.json()) {
      nlohmann::json told = status_to_json(*status);
      told["command"] = "edge status";
      told["ok"] = true;
      output.object(told);
    } else {
      print_status(output, *status);
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_edge_status_command() {
  return std::make_unique<EdgeStatusCommand>();
}

}  // namespace hedge::cli
