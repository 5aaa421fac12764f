// hedge config [--effective]: is hedge.toml right, and what does it come to?
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/services.h"
#include "config/project_config.h"
#include "contract/public_address.h"
#include "worktree/git/checkout_info.h"

namespace hedge::cli {
namespace {

class ConfigCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("config", "check hedge.toml; with --effective show every value and where it is from");
    verb->add_flag("--effective", effective_, "every value, with its place in the file or \"default\"");
    return verb;
  }

  Result<int> run(Services& services) override {
    const auto caller = services.directory();
    if (!caller) return caller.error();
    worktree::Git git(services.runner(), services.environment());
    const auto checkout = worktree::inspect_checkout(git, *caller);
    if (!checkout) return checkout.error();
    const auto config = config::load_project_config(checkout->top);
    if (!config) return config.error();
    if (auto valid = contract::require_hostnames(*config); !valid) return valid.error();
    print(services.output(), (checkout->top / config::kProjectConfigFile).string(), *config);
    return 0;
  }

 private:
  void print(Output& output, const std::string& file, const config::ProjectConfig& config) const {
    if (output.json()) {
      nlohmann::json values = nlohmann::json::array();
      for (const config::EffectiveValue& value : config.effective) {
        values.push_back({{"key", value.key}, {"value", value.value}, {"origin", value.origin}});
      }
      output.object({{"file", file}, {"ok", true}, {"values", std::move(values)}});
      return;
    }
    if (!effective_) return output.line(file + " is fine");
    std::vector<std::vector<std::string>> rows;
    for (const config::EffectiveValue& value : config.effective) rows.push_back({value.key, value.value, value.origin});
    output.table({"key", "value", "origin"}, rows);
  }

  bool effective_ = false;
};

}  // namespace

std::unique_ptr<Command> make_config_command() { return std::make_unique<ConfigCommand>(); }

}  // namespace hedge::cli
