// hedge create [BRANCH]: makes or converges a worktree, and prints the contract.
#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/contract_view.h"
#include "cli/manager.h"
#include "cli/services.h"
#include "contract/verbs.h"

namespace hedge::cli {
namespace {

class CreateCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("create", "make a worktree with an environment of its own, or bring it up to date");
    verb->add_option("branch", options_.branch, "the branch; without one, the checkout that you stand in")->type_name("BRANCH");
    verb->add_option("--from", options_.from, "where a new branch starts (default: your HEAD)")->type_name("REF");
    verb->add_option("--instance", options_.instance, "another worktree of the same branch")->type_name("NAME");
    verb->add_flag("--adopt", options_.adopt, "give this worktree, which git made, an environment of its own");
    verb->add_option("--provider", options_.provider.provider, "where this runs (default: detected)")->type_name("P");
    verb->add_flag("--no-fallback", no_fallback_, "fail rather than make do with less; no provider of this version does, so it changes nothing");
    verb->add_flag("--dry-run", dry_run_, "only say what would be done");
    return verb;
  }

  Result<int> run(Services& services) override {
    if (options_.branch.empty() && !(options_.from.empty() && options_.instance.empty())) {
      return Error(ErrorKind::invalid_input, "--from and --instance need a branch").with_id("usage_error");
    }
    if (options_.adopt && !options_.branch.empty()) {
      return Error(ErrorKind::invalid_input, "--adopt is for the worktree that you stand in: leave out the branch")
          .with_id("usage_error");
    }
    const auto caller = services.directory();
    if (!caller) return caller.error();
    const auto manager = services.manager();
    if (!manager) return manager.error();
    options_.rehearsal = dry_run_ ? contract::Rehearsal::yes : contract::Rehearsal::no;
    auto result = contract::create((*manager)->instruments(), *caller, options_);
    return print_contract(services, std::move(result), options_.branch, services.options().verbosity > 0);
  }

  ResultShape shape() const override { return ResultShape::contract; }

 private:
  contract::CreateOptions options_;
  bool no_fallback_ = false;  // the only provider has nothing to fall back to
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_create_command() { return std::make_unique<CreateCommand>(); }

}  // namespace hedge::cli
