// hedge destroy [BRANCH]: removes a worktree and everything that was made for it.
#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/contract_view.h"
#include "cli/manager.h"
#include "cli/services.h"
#include "contract/verbs.h"

namespace hedge::cli {
namespace {

class DestroyCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("destroy", "remove a worktree and everything that was made for it");
    verb->add_option("branch", options_.branch, "the branch (default: the worktree that you stand in)")->type_name("BRANCH");
    verb->add_option("--instance", options_.instance, "which of the branch's worktrees")->type_name("NAME");
    verb->add_flag("--discard", discard_, "also with unsaved work in it, which a recovery ref keeps");
    verb->add_flag("--keep-branch", keep_branch_, "leave the branch");
    verb->add_flag("--dry-run", dry_run_, "only say what would be removed");
    return verb;
  }

  Result<int> run(Services& services) override {
    const auto caller = services.directory();
    if (!caller) return caller.error();
    const auto manager = services.manager();
    if (!manager) return manager.error();
    if (discard_) options_.how.unsaved = worktree::UnsavedPolicy::discard;
    if (keep_branch_) options_.how.branch = worktree::BranchPolicy::keep;
    options_.rehearsal = dry_run_ ? contract::Rehearsal::yes : contract::Rehearsal::no;
    auto result = contract::destroy((*manager)->instruments(), *caller, options_);
    return print_contract(services, std::move(result), options_.branch, services.options().verbosity > 0);
  }

  ResultShape shape() const override { return ResultShape::contract; }

 private:
  contract::DestroyOptions options_;
  bool discard_ = false;
  bool keep_branch_ = false;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_destroy_command() { return std::make_unique<DestroyCommand>(); }

}  // namespace hedge::cli
