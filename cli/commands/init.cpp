// hedge init: writes a commented hedge.toml from what it finds. Never over an existing one.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands/commands.h"
#include "cli/project_survey.h"
#include "cli/services.h"
#include "config/project_config.h"
#include "worktree/git/checkout_info.h"

namespace hedge::cli {
namespace {

class InitCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    return parent.add_subcommand("init", "write a commented hedge.toml from what is in the repository");
  }

  Result<int> run(Services& services) override {
    const auto caller = services.directory();
    if (!caller) return caller.error();
    worktree::Git git(services.runner(), services.environment());
    const auto checkout = worktree::inspect_checkout(git, *caller);
    if (!checkout) return checkout.error();
    if (auto known = config::require_checkout(checkout->top); !known) return known.error();
    const std::filesystem::path file = checkout->top / config::kProjectConfigFile;
    if (path_exists(file)) {
      return Error(ErrorKind::already_exists, file.string() + " is there already").with_id("config_exists");
    }
    const std::string text = starting_config(survey_project(checkout->top));
    if (auto written = write_file_atomically(file, text, 0644); !written) return written.error();
    if (services.output().json()) services.output().object({{"file", file.string()}});
    else services.output().line("wrote " + file.string() + ": look at it, then run: hedge create");
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_init_command() { return std::make_unique<InitCommand>(); }

}  // namespace hedge::cli
