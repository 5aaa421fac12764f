// hedge create: check, converge what is missing, check again.
#include <algorithm>
#include <optional>

#include "base/file_lock.h"
#include "contract/assess.h"
#include "contract/observations.h"
#include "contract/stopwatch.h"
#include "contract/verbs.h"

namespace hedge::contract {
namespace {

// One create, from the caller's directory to the object.
class Creation {
 public:
  Creation(const Instruments& tools, const CreateOptions& options, ContractResult& result)
      : tools_(tools), options_(options), result_(result) {}

  Result<void> run(const std::filesystem::path& caller) {
    const auto find_place = options_.rehearsal == Rehearsal::yes ? worktree::locate : worktree::locate_and_follow;
    auto located = find_place(tools_.git, tools_.registry, caller);
    if (!located) return located.error();
    auto config = load_config_of(located->checkout.top, located->main_checkout);
    if (!config) return config.error();
    auto wanted = propose(*located, *config);
    if (!wanted) return wanted.error();
    if (options_.rehearsal == Rehearsal::yes) {
      result_.workspace = workspace_facts(*wanted);
      return rehearse(*wanted, std::move(*config));
    }
    if (auto usable = require_usable(*wanted, *config); !usable) return usable.error();
    auto birth = tools_.locks.hold_birth();
    if (!birth) return birth.error();
    birth_ = std::move(*birth);
    auto record = admit(*located, *config);
    if (!record) return record.error();
    result_.workspace = workspace_facts(*record);
    auto made = make(*record, std::move(*config));
    if (made) return {};
    return made.error();
  }

 private:
  worktree::CreateRequest request() const { return {options_.branch, options_.from, options_.instance, options_.stack}; }

  // The record that is there, or the one that would be; refuses what this verb is not for.
  Result<worktree::WorktreeRecord> propose(const worktree::Located& located, const config::ProjectConfig& config) {
    if (!options_.branch.empty()) return tools_.lifecycle.propose(located, config, request());
    const bool is_foreign = !located.record && located.checkout.kind == worktree::WorktreeKind::linked && !options_.adopt;
    if (is_foreign) return worktree::require_initialized(located);
    if (options_.rehearsal == Rehearsal::yes && !located.record) {
      return Error(ErrorKind::not_found, "this checkout is not registered yet, so there is no plan to show")
          .with_id("worktree_uninitialized");
    }
    return tools_.lifecycle.propose_adoption(located, config);
  }

  // Whatever is wrong with the options and the configuration is told before anything is recorded.
  Result<void> require_usable(const worktree::WorktreeRecord& wanted, const config::ProjectConfig& config) {
    auto recorded = tools_.registry.find(wanted.id);
    if (!recorded) return recorded.error();
    if (recorded->has_value()) result_.workspace = workspace_facts(wanted);
    auto subject = make_subject(tools_, wanted, config, options_.provider, worktree::ObserveMode::rehearsal);
    if (!subject) return subject.error();
    return {};
  }

  Result<worktree::WorktreeRecord> admit(const worktree::Located& located, const config::ProjectConfig& config) {
    return options_.branch.empty() ? tools_.lifecycle.adopt(located, config)
                                   : tools_.lifecycle.admit(located, config, request());
  }

  // The checkout first: the branch brings its own hedge.toml, and everything after follows that one.
  Result<void> make(worktree::WorktreeRecord record, config::ProjectConfig config) {
    auto subject = make_subject(tools_, record, config, options_.provider, worktree::ObserveMode::real);
    if (!subject) return subject.error();
    const auto checkout = converge(*subject, true);
    birth_.reset();  // from here on the ledger tells of it
    if (!checkout) return finish_failed(*subject, checkout.error());
    auto own_config = load_config_of(subject->record.path, subject->record.main_checkout);
    if (!own_config) return own_config.error();
    subject = make_subject(tools_, subject->record, std::move(*own_config), options_.provider, worktree::ObserveMode::real);
    if (!subject) return subject.error();
    if (auto recorded = store_recorded_provider(subject->record.repository, subject->provider.choice.name); !recorded) {
      return recorded.error();
    }
    // Before the environment is written, which may name the root's file.
    if (auto authority = tools_.ensure_authority(); !authority) return finish_failed(*subject, authority.error());
    if (auto rest = converge(*subject, false); !rest) return finish_failed(*subject, rest.error());
    refresh_checkout(*subject);
    expect_start(*subject);
    assess(tools_, *subject, Strictness::normal, result_);
    return {};
  }

  Result<void> converge(Subject& subject, bool only_checkout) {
    std::vector<worktree::ResourceSpec> steps;
    for (const worktree::ResourceSpec& step : subject.plan.steps) {
      if (!only_checkout || step.kind == "checkout" || step.kind == "branch") steps.push_back(step);
    }
    using Extent = worktree::Lifecycle::Extent;
    auto outcome = tools_.lifecycle.create(subject.record, steps, only_checkout ? Extent::part : Extent::whole);
    if (!outcome) return outcome.error();
    subject.record = std::move(outcome->record);
    for (worktree::Change& change : outcome->changes) {
      if (change.action != worktree::Action::none) result_.changes.push_back(std::move(change));
    }
    return {};
  }

  void refresh_checkout(Subject& subject) const {
    if (auto now = worktree::inspect_exactly(tools_.git, subject.record.path)) subject.checkout = std::move(*now);
  }

  // What stands is checked all the same, so that the object tells how far it came.
  Result<void> finish_failed(Subject& subject, const Error& error) {
    const auto stopped_at = tools_.narrator.open_step();
    refresh_checkout(subject);
    assess(tools_, subject, Strictness::normal, result_);
    note_failed_run(result_, error, stopped_at);
    return {};
  }

  Result<void> rehearse(const worktree::WorktreeRecord& record, config::ProjectConfig config) {
    auto subject = make_subject(tools_, record, std::move(config), options_.provider, worktree::ObserveMode::rehearsal);
    if (!subject) return subject.error();
    assess(tools_, *subject, Strictness::normal, result_);
    const Observations observations = observe(tools_, *subject);
    for (const ObservedResource& resource : observations.resources) {
      const auto presence = resource.finding ? resource.finding->presence : worktree::Presence::missing;
      if (presence == worktree::Presence::present) continue;
      const auto action = presence == worktree::Presence::differs ? worktree::Action::updated : worktree::Action::created;
      result_.changes.push_back({resource.spec.kind, resource.spec.name, action, ""});
    }
    // It did what it was asked: the status tells how the worktree is, the exit code that the plan could be made.
    result_.exit_code = ExitCode::ok;
    return {};
  }

  const Instruments& tools_;
  const CreateOptions& options_;
  ContractResult& result_;
  std::optional<FileLock> birth_;  // from before the record is written until something of it is in the ledger
};

}  // namespace

ContractResult create(const Instruments& tools, const std::filesystem::path& caller, const CreateOptions& options) {
  ContractResult result;
  result.command = "create";
  result.is_rehearsal = options.rehearsal == Rehearsal::yes;
  const Stopwatch watch(tools.clock);
  if (auto done = Creation(tools, options, result).run(caller); !done) fail_with(result, done.error());
  result.duration = watch.elapsed();
  return result;
}

}  // namespace hedge::contract
