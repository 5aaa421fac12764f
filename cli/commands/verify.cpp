// hedge verify, hedge status: is this worktree ready? The gate: exit code 0 only if it is.
#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/contract_view.h"
#include "cli/manager.h"
#include "cli/services.h"
#include "contract/verbs.h"

namespace hedge::cli {
namespace {

class VerifyCommand final : public Command {
 public:
  VerifyCommand(std::string name, std::string description) : name_(std::move(name)), description_(std::move(description)) {}

  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand(name_, description_);
    verb->add_option("branch", options_.branch, "the worktree of this branch (default: where you stand)")->type_name("BRANCH");
    verb->add_flag("--strict", strict_, "optional checks count as well");
    return verb;
  }

  Result<int> run(Services& services) override {
    const auto caller = services.directory();
    if (!caller) return caller.error();
    const auto manager = services.manager();
    if (!manager) return manager.error();
    options_.strictness = strict_ ? contract::Strictness::strict : contract::Strictness::normal;
    auto result = contract::verify((*manager)->instruments(), *caller, options_, name_);
    return print_contract(services, std::move(result), options_.branch, services.options().verbosity > 0 || name_ == "status");
  }

  ResultShape shape() const override { return ResultShape::contract; }

 private:
  std::string name_;
  std::string description_;
  contract::VerifyOptions options_;
  bool strict_ = false;
};

}  // namespace

std::unique_ptr<Command> make_verify_command() {
  return std::make_unique<VerifyCommand>("verify", "check that the worktree is ready; exit code 0 only if it is");
}
std::unique_ptr<Command> make_status_command() {
  return std::make_unique<VerifyCommand>("status", "the same checks, all of them shown");
}

}  // namespace hedge::cli
