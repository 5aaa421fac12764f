// hedge up, hedge down: starts and stops the stack of a worktree.
#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/contract_view.h"
#include "cli/worktree_subject.h"
#include "contract/verbs.h"

namespace hedge::cli {
namespace {

using PowerVerb = contract::ContractResult (*)(const contract::Instruments&, const std::filesystem::path&,
                                               const contract::PowerOptions&);

class PowerCommand final : public Command {
 public:
  PowerCommand(std::string name, std::string description, PowerVerb verb)
      : name_(std::move(name)), description_(std::move(description)), verb_(verb) {}

  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand(name_, description_);
    verb->add_option("-w,--worktree", options_.branch, "the worktree of this branch (default: where you stand)")
        ->type_name("BRANCH");
    verb->add_option("name", names_, "the branch, then services (default: what the branch needs)")->type_name("[BRANCH] [SERVICE…]");
    if (verb_ == contract::up) verb->add_flag("--all", options_.all, "every service");
    return verb;
  }

  Result<int> run(Services& services) override {
    const auto caller = services.directory();
    if (!caller) return caller.error();
    const auto manager = services.manager();
    if (!manager) return manager.error();
    if (auto sorted = sort_names(services); !sorted) return sorted.error();
    auto result = verb_((*manager)->instruments(), *caller, options_);
    return print_contract(services, std::move(result), options_.branch, services.options().verbosity > 0);
  }

  ResultShape shape() const override { return ResultShape::contract; }

 private:
  // `hedge up x`: x is a worktree if there is one of that name, else a service.
  Result<void> sort_names(Services& services) {
    if (!names_.empty() && options_.branch.empty()) {
      const auto record = find_worktree_record(services, names_.front());
      if (record) {
        options_.branch = names_.front();
        names_.erase(names_.begin());
      } else if (record.error().id() != "worktree_not_found") {
        return record.error();
      }
    }
    if (verb_ == contract::down && !names_.empty()) {
      return Error(ErrorKind::invalid_input, "there is no worktree " + names_.front()).with_id("worktree_not_found");
    }
    options_.services = names_;
    return {};
  }

  std::string name_;
  std::string description_;
  std::vector<std::string> names_;
  PowerVerb verb_;
  contract::PowerOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_up_command() {
  return std::make_unique<PowerCommand>("up", "start the worktree's stack", contract::up);
}
std::unique_ptr<Command> make_down_command() {
  return std::make_unique<PowerCommand>("down", "stop the worktree's stack; nothing is removed", contract::down);
}

}  // namespace hedge::cli
