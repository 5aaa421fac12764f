// hedge env [BRANCH]: the variables of a worktree, as its programs get them. Passwords are in them: for one's own eyes.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/worktree_subject.h"
#include "contract/wrapper_place.h"
#include "worktree/env_format.h"

namespace hedge::cli {
namespace {

class EnvCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("env", "print the worktree's variables, passwords included");
    verb->add_option("branch", branch_, "the branch (default: where you stand)")->type_name("BRANCH");
    return verb;
  }

  Result<int> run(Services& services) override {
    const auto subject = find_worktree_subject(services, branch_);
    if (!subject) return subject.error();
    const auto manager = services.manager();
    if (!manager) return manager.error();
    const auto place = contract::host_place((*manager)->instruments(), *subject);
    if (!place) return place.error();
    if (services.output().json()) {
      services.output().object(nlohmann::json(place->variables));
      return 0;
    }
    for (const auto& [name, value] : place->variables) {
      // The same lines as in the environment file; what it could not hold is not in the list.
      if (auto line = worktree::format_variable(name, value)) services.output().line(*line);
    }
    return 0;
  }

 private:
  std::string branch_;
};

}  // namespace

std::unique_ptr<Command> make_env_command() { return std::make_unique<EnvCommand>(); }

}  // namespace hedge::cli
