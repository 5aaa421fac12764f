#include "worktree/lifecycle.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "config/project_config.h"
#include "worktree/git/branch_choice.h"
#include "worktree/git/branch_resource.h"
#include "worktree/git/checkout_resource.h"
#include "worktree/occupant.h"
#include "worktree/plan.h"
#include "worktree/relocation.h"

namespace hedge::worktree {
namespace {

// Passes on what it is told, and looks once more before the checkout goes.
class LastLook final : public StepObserver {
 public:
  LastLook(StepObserver& next, Git& git, const WorktreeRecord& record, const DestroyOptions& options)
      : next_(next), git_(git), record_(record), unsaved_(options.unsaved) {}
  Result<void> on_step(Stage stage, const ResourceSpec& spec) override {
    if (auto told = next_.on_step(stage, spec); !told) return told;
    const bool is_due =
        stage == Stage::begun && spec.kind == kCheckoutKind && unsaved_ == UnsavedPolicy::refuse;
    return is_due ? require_nothing_unsaved(git_, record_) : Result<void>();
  }

 private:
  StepObserver& next_;
  Git& git_;
  const WorktreeRecord& record_;
  UnsavedPolicy unsaved_;
};

}  // namespace

Result<Birth> Lifecycle::describe_birth(const Located& caller, const config::ProjectConfig& config,
                                        const CreateRequest& request) {
  auto choice = choose_branch(parts_.git, caller.checkout, request.branch, request.from);
  if (!choice) return choice.error();
  Birth birth;
  birth.app = config.app.name;
  birth.branch = request.branch;
  birth.instance = request.instance;
  birth.branch_origin = choice->origin;
  birth.upstream = choice->upstream;
  birth.base = choice->base;
  birth.repository = caller.checkout.repository;
  birth.main_checkout = caller.main_checkout;
  birth.stack = request.stack;
  birth.rules = name_rules(config);
  return birth;
}

Result<std::optional<WorktreeRecord>> Lifecycle::load_current(std::string_view id) {
  auto recorded = parts_.registry.find(id);
  if (!recorded || !recorded->has_value()) return recorded;
  auto current = follow_moved(parts_.git, parts_.registry, **recorded);
  if (!current) return current.error();
  return std::optional<WorktreeRecord>(std::move(*current));
}

// Somebody may have switched branches inside a worktree since it was born: its name for `hedge create BRANCH`
// follows.
Result<void> Lifecycle::follow_branches(const std::filesystem::path& repository) {
  auto records = parts_.registry.load_repository(repository);
  if (!records) return records.error();
  auto listed = list_worktrees(parts_.git, repository);
  if (!listed) return listed.error();
  for (const WorktreeRecord& record : *records) {
    const WorktreeRecord now = find_moved(parts_.git, record);
    const auto place = std::ranges::find(*listed, now.path, &ListedWorktree::path);
    const bool is_elsewhere = place != listed->end() && !record.git_dir.empty() && !place->branch.empty() &&
                              place->branch != record.branch;
    if (!is_elsewhere || record.kind == WorktreeKind::main) continue;
    const auto standing = look_at_place(parts_.git, now);
    // A broken one is for whoever asks for it by name.
    if (!standing || standing->occupant != Occupant::ours) continue;
    if (auto updated = parts_.registry.set_branch(record, place->branch); !updated) return updated.error();
  }
  return {};
}

// A record whose checkout is gone (destroyed in part, or removed by hand) starts again from what the
// repository has now.
Result<WorktreeRecord> Lifecycle::revive(WorktreeRecord record, const Birth& birth) {
  const auto lock = parts_.locks.lock_work(record.id);
  if (!lock) return lock.error();
  auto current = load_current(record.id);
  if (!current) return current.error();
  // Destroyed while we waited: a new birth.
  if (!current->has_value()) return parts_.registry.admit(birth);
  record = std::move(**current);
  record.stack = birth.stack;
  if (!path_exists(record.path)) {
    const bool is_same_branch = record.branch_origin == BranchOrigin::ours && record.base == birth.base;
    if (!is_same_branch) record.branch_origin = birth.branch_origin;
    record.base = birth.base;
    record.upstream = birth.upstream;
    record.git_dir.clear();
  }
  if (record.state == WorktreeState::destroying) record.state = WorktreeState::creating;
  if (auto updated = parts_.registry.update(record); !updated) return updated.error();
  return record;
}

Result<WorktreeRecord> Lifecycle::admit(const Located& caller, const config::ProjectConfig& config,
                                        const CreateRequest& request) {
  if (auto followed = follow_branches(caller.checkout.repository); !followed) return followed.error();
  auto birth = describe_birth(caller, config, request);
  if (!birth) return birth.error();
  auto record = parts_.registry.admit(*birth);
  if (!record) return record.error();
  return revive(std::move(*record), *birth);
}

Result<WorktreeRecord> Lifecycle::propose(const Located& caller, const config::ProjectConfig& config,
                                          const CreateRequest& request) {
  auto birth = describe_birth(caller, config, request);
  if (!birth) return birth.error();
  auto record = parts_.registry.propose(*birth);
  if (!record) return record.error();
  return find_moved(parts_.git, std::move(*record));
}

Birth Lifecycle::describe_adoption(const Located& here, const config::ProjectConfig& config) {
  Birth birth;
  birth.kind = here.checkout.kind;
  birth.app = config.app.name;
  birth.branch = here.checkout.branch;
  birth.branch_origin = BranchOrigin::none;
  birth.base = here.checkout.head;
  birth.repository = here.checkout.repository;
  birth.main_checkout = here.main_checkout;
  birth.path = here.checkout.top;
  birth.git_dir = here.checkout.git_dir;
  birth.rules = name_rules(config);
  return birth;
}

Result<WorktreeRecord> Lifecycle::adopt(const Located& here, const config::ProjectConfig& config) {
  if (here.record) return *here.record;
  return parts_.registry.admit(describe_adoption(here, config));
}

Result<WorktreeRecord> Lifecycle::propose_adoption(const Located& here, const config::ProjectConfig& config) {
  if (here.record) return *here.record;
  return parts_.registry.propose(describe_adoption(here, config));
}

Result<bool> Lifecycle::forget_unborn(const WorktreeRecord& asked, Forgetting forgetting) {
  const auto alone = parts_.locks.require_no_birth();
  if (!alone) return alone.error();
  const auto work = parts_.locks.lock_work(asked.id, std::chrono::milliseconds(0));
  if (!work) return work.error();
  auto record = parts_.registry.find(asked.id);
  if (!record) return record.error();
  if (!record->has_value()) return true;
  const auto entries = parts_.ledger.load(asked.id);
  if (!entries) return entries.error();
  const WorktreeRecord& current = **record;
  const bool is_unborn = current.state == WorktreeState::creating && current.git_dir.empty() &&
                         entries->empty() && !path_exists(current.path);
  if (!is_unborn || forgetting == Forgetting::rehearsal) return is_unborn;
  if (auto forgotten = parts_.registry.forget(asked.id); !forgotten) return forgotten.error();
  return true;
}

// After the checkout is there: where git keeps it, which is how it is recognised from now on.
Result<WorktreeRecord> Lifecycle::refresh(WorktreeRecord record) {
  auto info = inspect_exactly(parts_.git, record.path);
  if (!info) return info.error();
  if (record.git_dir == info->git_dir) return record;
  record.git_dir = info->git_dir;
  if (auto updated = parts_.registry.update(record); !updated) return updated.error();
  return record;
}

Result<Lifecycle::CreateOutcome> Lifecycle::create(const WorktreeRecord& record,
                                                   const std::vector<ResourceSpec>& plan, Extent extent) {
  const auto lock = parts_.locks.lock_work(record.id);
  if (!lock) return lock.error();
  auto commands = parts_.locks.lock_commands(record.id);
  if (!commands) return commands.error();
  const CommandHold hold(parts_.commands, std::move(*commands));
  // Another run may have worked on it while we waited.
  auto current = load_current(record.id);
  if (!current) return current.error();
  if (!current->has_value()) {
    return Error(ErrorKind::not_found, "worktree " + record.slug + " was destroyed meanwhile")
        .with_id("worktree_not_found");
  }
  CreateOutcome outcome;
  outcome.record = std::move(**current);
  if (extent == Extent::whole) outcome.record.state = WorktreeState::creating;
  if (auto updated = parts_.registry.update(outcome.record); !updated) return updated.error();
  Runner runner(parts_.ledger, parts_.kinds, parts_.observer);
  for (const ResourceSpec& spec : plan) {
    auto change = runner.converge(outcome.record, spec);
    if (!change) return change.error();
    outcome.changes.push_back(std::move(*change));
    if (spec.kind != kCheckoutKind) continue;
    auto refreshed = refresh(std::move(outcome.record));
    if (!refreshed) return refreshed.error();
    outcome.record = std::move(*refreshed);
  }
  if (auto touched = parts_.registry.touch(outcome.record.id); !touched) return touched.error();
  if (extent == Extent::part) return outcome;
  outcome.record.state = WorktreeState::ready;
  if (auto updated = parts_.registry.update(outcome.record); !updated) return updated.error();
  return outcome;
}

Result<DestroyReport> Lifecycle::destroy(const WorktreeRecord& asked, const DestroyOptions& options) {
  if (auto allowed = require_linked(asked); !allowed) return allowed.error();
  const auto lock = parts_.locks.lock_work(asked.id);
  if (!lock) return lock.error();
  const auto commands = parts_.locks.lock_commands(asked.id);
  if (!commands) return commands.error();
  const auto idle = parts_.locks.require_idle(asked.id);
  if (!idle) return idle.error();
  auto current = load_current(asked.id);
  if (!current) return current.error();
  if (!current->has_value()) return DestroyReport{};
  WorktreeRecord record = std::move(**current);
  auto guarded = guard_destroy(parts_.git, record, options);
  if (!guarded) return guarded.error();
  DestroyReport report = std::move(*guarded);
  record.state = WorktreeState::destroying;
  if (auto updated = parts_.registry.update(record); !updated) return updated.error();
  if (options.branch == BranchPolicy::keep) {
    auto entries = parts_.ledger.load(record.id);
    if (!entries) return entries.error();
    for (const LedgerEntry& entry : *entries) {
      if (entry.spec.kind != kBranchKind) continue;
      if (auto dropped = parts_.ledger.removed(record.id, entry.spec); !dropped) return dropped.error();
    }
  }
  LastLook last_look(parts_.observer, parts_.git, record, options);
  Runner runner(parts_.ledger, parts_.kinds, last_look);
  auto removal = runner.remove_all(record, report.scope);
  if (!removal) return removal.error();
  report.removal = std::move(*removal);
  if (!report.removal.survivors.empty()) return report;
  if (auto forgotten = parts_.registry.forget(record.id); !forgotten) return forgotten.error();
  return report;
}

}  // namespace hedge::worktree
