// hedge golden refresh, hedge golden status: the copy of main's database that worktrees are cloned from.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/manager.h"
#include "cli/services.h"
#include "contract/assess.h"
#include "worktree/data/database_kind.h"
#include "worktree/data/golden.h"

namespace hedge::cli {
namespace {

Result<worktree::GoldenSpec> find_golden_spec(Services& services) {
  const auto caller = services.directory();
  if (!caller) return caller.error();
  const auto manager = services.manager();
  if (!manager) return manager.error();
  const contract::Instruments& tools = (*manager)->instruments();
  const auto located = worktree::locate(tools.git, tools.registry, *caller);
  if (!located) return located.error();
  const auto config = contract::load_config_of(located->checkout.top, located->main_checkout);
  if (!config) return config.error();
  if (config->database.engine != config::DatabaseEngine::postgres) {
    return Error(ErrorKind::invalid_input, "only [database] engine = \"postgres\" has a golden copy").with_id("golden_not_used");
  }
  return worktree::golden_of(*config, config->app.name, tools.environment, tools.paths);
}

Result<std::optional<worktree::GoldenFacts>> ask(const worktree::GoldenSpec& spec) {
  auto admin = worktree::PgConnection::connect(spec.admin);
  if (!admin) return admin.error();
  return worktree::fetch_golden(*admin, spec);
}

int print(Output& output, const worktree::GoldenSpec& spec, const std::optional<worktree::GoldenFacts>& facts) {
  if (output.json()) {
    const auto made_at = facts ? nlohmann::json(facts->made_at) : nlohmann::json(nullptr);
    output.object({{"name", spec.name}, {"source", spec.source}, {"exists", facts.has_value()}, {"made_at", made_at}});
  } else if (facts) {
    output.line(spec.name + ": a copy of " + facts->source + ", made " + facts->made_at);
  } else {
    output.line("there is no " + spec.name + " yet; the next create makes it");
  }
  return 0;
}

class GoldenRefreshCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    return parent.add_subcommand("refresh", "make the copy anew from main, which nobody is disturbed by");
  }
  Result<int> run(Services& services) override {
    const auto spec = find_golden_spec(services);
    if (!spec) return spec.error();
    services.output().progress("copying " + spec->source + " to " + spec->name);
    if (auto done = worktree::refresh_golden(*spec, services.runner()); !done) return done.error();
    const auto facts = ask(*spec);
    if (!facts) return facts.error();
    return print(services.output(), *spec, *facts);
  }
};

class GoldenStatusCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override { return parent.add_subcommand("status", "of what, and from when, the copy is"); }
  Result<int> run(Services& services) override {
    const auto spec = find_golden_spec(services);
    if (!spec) return spec.error();
    const auto facts = ask(*spec);
    if (!facts) return facts.error();
    return print(services.output(), *spec, *facts);
  }
};

}  // namespace

std::unique_ptr<Command> make_golden_refresh_command() { return std::make_unique<GoldenRefreshCommand>(); }
std::unique_ptr<Command> make_golden_status_command() { return std::make_unique<GoldenStatusCommand>(); }

}  // namespace hedge::cli
