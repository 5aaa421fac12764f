// hedge up, hedge down: the stack alone.
#include <algorithm>

#include "contract/assess.h"
#include "contract/stopwatch.h"
#include "contract/verbs.h"
#include "contract/worktree_lookup.h"
#include "router/edge_client.h"
#include "worktree/stack/stack.h"
#include "worktree/stack/stack_kind.h"

namespace hedge::contract {
namespace {

using worktree::ResourceSpec;

Result<Subject> subject_of(const Instruments& tools, const std::filesystem::path& caller, const std::string& branch,
                           ContractResult& result) {
  auto located = worktree::locate_and_follow(tools.git, tools.registry, caller);
  if (!located) return located.error();
  auto record = find_record(tools, *located, branch);
  if (!record) return record.error();
  result.workspace = workspace_facts(*record);
  auto config = load_config_of(record->path, record->main_checkout);
  if (!config) return config.error();
  return make_subject(tools, *record, std::move(*config), {}, worktree::ObserveMode::real);
}

Result<std::vector<ResourceSpec>> steps_to_start(const Subject& subject, const PowerOptions& options) {
  worktree::ServiceWish wish;
  if (options.all) wish.kind = worktree::ServiceWish::Kind::all;
  if (!options.services.empty()) wish = {worktree::ServiceWish::Kind::named, options.services};
  std::vector<ResourceSpec> steps;
  for (const ResourceSpec& step : subject.plan.steps) {
    if (step.kind == "route") steps.push_back(step);
    if (step.kind != "stack") continue;
    auto wished = worktree::with_wish(step, wish);
    if (!wished) return wished.error();
    steps.push_back(std::move(*wished));
  }
  return steps;
}

Result<void> start(const Instruments& tools, Subject& subject, const PowerOptions& options, ContractResult& result) {
  auto steps = steps_to_start(subject, options);
  if (!steps) return steps.error();
  // Containers mount its files. A stack runs without TLS too, so what is wrong with it is only told.
  if (auto authority = tools.ensure_authority(); !authority)
    result.warnings.push_back({std::string(id_of(authority.error())), authority.error().to_string()});
  auto outcome = tools.lifecycle.create(subject.record, *steps, worktree::Lifecycle::Extent::part);
  const auto stopped_at = tools.narrator.open_step();
  if (outcome) {
    subject.record = outcome->record;
    expect_start(subject);
    for (const worktree::Change& change : outcome->changes) {
      if (change.action != worktree::Action::none) result.changes.push_back(change);
    }
  }
  assess(tools, subject, Strictness::normal, result);
  if (!outcome) note_failed_run(result, outcome.error(), stopped_at);
  return {};
}

// What was started, which hedge.toml may ask for no longer, or as something else; and what it asks for now, which
// somebody may have started by hand.
Result<std::vector<ResourceSpec>> stacks_to_stop(const Instruments& tools, const Subject& subject) {
  auto entries = tools.ledger.load(subject.record.id);
  if (!entries) return entries.error();
  std::vector<ResourceSpec> stacks;
  for (const worktree::LedgerEntry& entry : *entries) {
    if (entry.spec.kind == "stack") stacks.push_back(entry.spec);
  }
  for (const ResourceSpec& step : subject.plan.steps) {
    const bool is_recorded = std::ranges::find(stacks, step.name, &ResourceSpec::name) != stacks.end();
    if (step.kind == "stack" && !is_recorded) stacks.push_back(step);
  }
  return stacks;
}

Result<void> stop(const Instruments& tools, const Subject& subject, ContractResult& result) {
  auto lock = tools.locks.lock_work(subject.record.id);
  if (!lock) return lock.error();
  // Visitors are told that it was stopped, before they could meet a port on which nobody listens any more.
  if (auto told = tools.routes.set_state(subject.record.id, router::RouteState::stopped); !told) return told.error();
  const router::EdgeClient edge(router::find_control_socket(tools.paths.state, tools.paths.control_socket()));
  if (auto poked = edge.poke(); !poked) {
    result.warnings.push_back({std::string(id_of(poked.error())), poked.error().to_string()});
  }
  const auto stacks = stacks_to_stop(tools, subject);
  if (!stacks) return stacks.error();
  for (const ResourceSpec& step : *stacks) {
    auto resource = tools.kinds.make(step, subject.record);
    if (!resource) return resource.error();
    auto* stack = dynamic_cast<worktree::Stack*>(resource->get());
    if (stack == nullptr) continue;
    tools.narrator.tell("stopping " + step.name);
    auto change = stack->stop();
    if (!change) return change.error();
    if (change->action != worktree::Action::none) result.changes.push_back(std::move(*change));
  }
  return {};
}

}  // namespace

ContractResult up(const Instruments& tools, const std::filesystem::path& caller, const PowerOptions& options) {
  ContractResult result;
  result.command = "up";
  const Stopwatch watch(tools.clock);
  auto subject = subject_of(tools, caller, options.branch, result);
  const Result<void> done = subject ? start(tools, *subject, options, result) : Result<void>(subject.error());
  if (!done) fail_with(result, done.error());
  result.duration = watch.elapsed();
  return result;
}

ContractResult down(const Instruments& tools, const std::filesystem::path& caller, const PowerOptions& options) {
  ContractResult result;
  result.command = "down";
  const Stopwatch watch(tools.clock);
  auto subject = subject_of(tools, caller, options.branch, result);
  const Result<void> done = subject ? stop(tools, *subject, result) : Result<void>(subject.error());
  if (done) {
    assess(tools, *subject, Strictness::normal, result);
    // It did what it was asked: the status tells that the worktree is not ready, the exit code that it was stopped.
    result.exit_code = ExitCode::ok;
    result.next.reset();
  } else {
    fail_with(result, done.error());
  }
  result.duration = watch.elapsed();
  return result;
}

}  // namespace hedge::contract
