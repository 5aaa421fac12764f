#include "worktree/plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "config/project_config.h"
#include "worktree/git/checkout_info.h"
#include "worktree/seed/seed_sources.h"

namespace hedge::worktree {
namespace {

constexpr std::string_view kMainSlug = "main";

Values own_values(const PlanInput& input) {
  const WorktreeRecord& record = input.record;
  Values values{{"app.name", record.app},
                {"app.slug", record.slug.empty() ? std::string(kMainSlug) : record.slug},
                {"app.id", record.id},
                {"app.branch", record.branch},
                {"app.nonce", record.nonce},
                {"app.host", input.names.host},
                {"app.url", "https://" + input.names.host},
                {"worktree.path", record.path.string()}};
  for (const auto& [purpose, name] : input.names.cookies) values["cookies." + purpose] = name;
  for (const auto& [service, port] : input.observed.ports) values["port." + service] = std::to_string(port);
  for (const auto& [name, value] : input.observed.given) values[name] = value;
  return values;
}

std::vector<std::string> processes_with_ports(const WorktreeRecord& record,
                                              const config::ProjectConfig& config) {
  std::vector<std::string> names;
  const bool has_processes =
      record.stack == StackWish::with_stack && config.stack.runtime == config::StackRuntime::process;
  if (!has_processes) return names;
  for (const config::ProcessConfig& process : config.stack.processes) {
    if (!process.port_variable.empty()) names.push_back(process.name);
  }
  return names;
}

bool asks_for_changes(const config::ProjectConfig& config) {
  return std::ranges::any_of(config.stack.services, [](const config::ServiceConfig& service) {
    return !service.when_changed.empty();
  });
}

void append_paths(std::string_view nul_separated, std::vector<std::string>& paths) {
  for (const std::string_view path : split(nul_separated, '\0')) {
    if (!path.empty()) paths.emplace_back(path);
  }
}

Result<std::vector<std::string>> find_changed_paths(Git& git, const WorktreeRecord& record) {
  std::vector<std::string> paths;
  auto worktrees = list_worktrees(git, record.repository);
  if (!worktrees) return worktrees.error();
  const bool has_main = !worktrees->empty() && !worktrees->front().head.empty();
  const bool has_checkout = path_exists(record.path / ".git");
  const auto& place = has_checkout ? record.path : record.repository;
  const std::string head = has_checkout ? "HEAD" : record.base;
  if (!has_main) return paths;
  const auto base = git.ask(place, {"merge-base", worktrees->front().head, head});
  if (!base) return base.error();
  if (!base->ok()) return paths;  // no common history: nothing to compare with
  std::vector<std::string> diff{"diff", "--name-only", "-z", std::string(trim(base->out))};
  if (!has_checkout) diff.push_back(record.base);
  auto changed = git.output(place, std::move(diff));
  if (!changed) return changed.error();
  append_paths(*changed, paths);
  if (!has_checkout) return paths;
  auto untracked = git.output(place, {"ls-files", "-z", "--others", "--exclude-standard"});
  if (!untracked) return untracked.error();
  append_paths(*untracked, paths);
  return paths;
}

}  // namespace

NameRules name_rules(const config::ProjectConfig& config) {
  return {config.app.host, config.app.main_host, config.app.directory, config.app.cookies};
}

WorktreeNames names_of(const WorktreeRecord& record, const config::ProjectConfig& config) {
  const NameRules rules = name_rules(config);
  return record.kind == WorktreeKind::main ? derive_main_names(record.app, rules)
                                           : derive_names(record.app, record.slug, rules);
}

Result<Plan> make_plan(const ResourceKinds& kinds, const PlanInput& input) {
  Plan plan;
  plan.values = own_values(input);
  for (const auto& kind : kinds.in_order()) kind->publish(input, plan.values);
  for (const auto& kind : kinds.in_order()) {
    auto steps = kind->plan(input, plan.values);
    if (!steps) return std::move(steps).error().with_context("plan " + kind->kind());
    std::ranges::move(*steps, std::back_inserter(plan.steps));
  }
  return plan;
}

Result<Observed> observe(Git& git, Ports& ports, const WorktreeRecord& record,
                         const config::ProjectConfig& config, ObserveMode mode) {
  Observed observed;
  const auto wanted = processes_with_ports(record, config);
  if (!wanted.empty()) {
    auto allocated =
        mode == ObserveMode::real ? ports.ensure(record.id, wanted) : ports.propose(record.id, wanted);
    if (!allocated) return allocated.error();
    observed.ports = std::move(*allocated);
  }
  if (record.kind == WorktreeKind::linked && !record.main_checkout.empty()) {
    auto seeds = find_seed_paths(git, record.main_checkout, config.seed.paths);
    if (!seeds) return seeds.error();
    auto included = find_included_files(git, record.main_checkout, config.seed.include, *seeds);
    if (!included) return included.error();
    observed.seed_paths = std::move(*seeds);
    observed.included_files = std::move(*included);
  }
  if (asks_for_changes(config)) {
    auto changed = find_changed_paths(git, record);
    if (!changed) return changed.error();
    observed.changed_paths = std::move(*changed);
  }
  return observed;
}

}  // namespace hedge::worktree
