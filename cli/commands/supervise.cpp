// hedge supervise --stack DIRECTORY: the parent of a process stack's programs. Started by Hedge, not by people.
#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/services.h"
#include "worktree/stack/supervisor.h"

namespace hedge::cli {
namespace {

class SuperviseCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("supervise", "");
    verb->group("");  // hidden
    verb->add_option("--stack", directory_, "the stack's directory")->required();
    return verb;
  }

  Result<int> run(Services&) override {
    if (auto ended = worktree::run_supervisor(directory_); !ended) return ended.error();
    return 0;
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace

std::unique_ptr<Command> make_supervise_command() { return std::make_unique<SuperviseCommand>(); }

}  // namespace hedge::cli
