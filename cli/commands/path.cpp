// hedge path [BRANCH]: where a worktree is, for `cd "$(hedge path feature/x)"`.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/worktree_subject.h"

namespace hedge::cli {
namespace {

class PathCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("path", "print where the worktree of a branch is");
    verb->add_option("branch", branch_, "the branch (default: where you stand)")->type_name("BRANCH");
    return verb;
  }

  Result<int> run(Services& services) override {
    const auto record = find_worktree_record(services, branch_);
    if (!record) return record.error();
    if (services.output().json()) services.output().object({{"path", record->path.string()}});
    else services.output().line(record->path.string());
    return 0;
  }

 private:
  std::string branch_;
};

}  // namespace

std::unique_ptr<Command> make_path_command() { return std::make_unique<PathCommand>(); }

}  // namespace hedge::cli
