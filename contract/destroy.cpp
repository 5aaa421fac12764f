// hedge destroy: removes, in reverse, what the ledger says is ours.
#include <algorithm>

#include "base/text.h"
#include "contract/assess.h"
#include "contract/stopwatch.h"
#include "contract/verbs.h"
#include "contract/worktree_lookup.h"
#include "worktree/destroy_rehearsal.h"
#include "worktree/git/checkout_info.h"

namespace hedge::contract {
namespace {

constexpr std::size_t kListedPaths = 20;

std::string list_of(const std::vector<std::string>& paths) {
  std::vector<std::string> some(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(std::min(paths.size(), kListedPaths)));
  std::string out = join(some, ", ");
  if (paths.size() > kListedPaths) out += " and " + std::to_string(paths.size() - kListedPaths) + " more";
  return out;
}

void conclude_destroyed(ContractResult& result) {
  result.status = Status::destroyed;
  result.exit_code = ExitCode::ok;
}

// A worktree of that branch which git has and Hedge has not: not ours to remove.
Result<void> refuse_unmanaged(const Instruments& tools, const worktree::Located& located, const std::string& branch,
                              ContractResult& result) {
  auto listed = worktree::list_worktrees(tools.git, located.checkout.repository);
  if (!listed) return listed.error();
  for (const worktree::ListedWorktree& candidate : *listed) {
    if (candidate.branch != branch || candidate.path == located.main_checkout) continue;
    result.workspace = WorkspaceFacts{};
    result.workspace->path = candidate.path.string();
    result.workspace->kind = "worktree";
    result.workspace->branch = branch;
    return Error(ErrorKind::refused, "the worktree at " + candidate.path.string() + " was not made by hedge")
        .with_id("worktree_uninitialized")
        .with_hint("adopt it first: hedge -C " + candidate.path.string() + " create --adopt; or: git worktree remove");
  }
  return {};
}

void report(const worktree::DestroyReport& done, ContractResult& result) {
  for (const worktree::Change& change : done.removal.changes) {
    if (change.action != worktree::Action::none) result.changes.push_back(change);
  }
  if (!done.recovery_ref.empty()) {
    result.warnings.push_back({"recovery_kept", "what was discarded can be had back from " + done.recovery_ref});
  }
  if (!done.ignored.empty()) {
    result.warnings.push_back({"ignored_removed", "ignored files went with the checkout: " + list_of(done.ignored)});
  }
  if (done.removal.survivors.empty()) return conclude_destroyed(result);
  for (const worktree::Survivor& survivor : done.removal.survivors) {
    const std::string what = survivor.spec.kind + " " + survivor.spec.name;
    result.warnings.push_back({survivor.is_debt ? "debt" : "survivor", what + ": " + survivor.reason.to_string()});
  }
  const worktree::Survivor& first = done.removal.survivors.front();
  Error error = first.reason;
  note_failed_run(result, std::move(error).with_context(first.spec.kind + " " + first.spec.name + " could not be removed"), {});
  if (first.is_debt) result.next = "hedge gc";
}

Result<void> rehearse(const Instruments& tools, const worktree::WorktreeRecord& record,
                      const worktree::DestroyOptions& how, ContractResult& result) {
  auto told = worktree::rehearse_destroy({tools.git, tools.ledger, tools.kinds, tools.locks}, record, how);
  if (!told) return told.error();
  for (const worktree::Change& change : told->removal.changes) result.changes.push_back(change);
  if (!told->discarded.empty()) {
    result.warnings.push_back({"recovery_kept", "work that is nowhere else would go, and a recovery ref would keep it"});
  }
  if (!told->ignored.empty()) {
    result.warnings.push_back({"ignored_removed", "ignored files would go with the checkout: " + list_of(told->ignored)});
  }
  result.status = Status::incomplete;
  result.exit_code = ExitCode::ok;  // it did what it was asked
  return {};
}

// The slug of feature/x is what another branch, feature-x, may be called. Whoever destroys that one twice, or before
// it has a worktree, must not hit this one.
Result<void> refuse_mere_slug(const Instruments& tools, const worktree::WorktreeRecord& record,
                              const std::string& name) {
  if (name.empty() || name == record.branch || name == record.id || record.branch.empty()) return {};
  const auto checkout = worktree::inspect_checkout(tools.git, record.path);
  if (checkout && checkout->branch == name) return {};
  return Error(ErrorKind::refused, "no branch \"" + printable(name) + "\" has a worktree; it is only the short name of the one of " +
                                       printable(record.branch))
      .with_id("worktree_ambiguous")
      .with_hint("to destroy it, name its branch, " + printable(record.branch) + ", or its id, " + record.id);
}

Result<void> destroy_into(const Instruments& tools, const std::filesystem::path& caller, const DestroyOptions& options,
                          ContractResult& result) {
  const auto find_place = options.rehearsal == Rehearsal::yes ? worktree::locate : worktree::locate_and_follow;
  auto located = find_place(tools.git, tools.registry, caller);
  if (!located) return located.error();
  auto record = find_record(tools, *located, options.branch, options.instance);
  if (!record) {
    if (record.error().id() != "worktree_not_found") return record.error();
    if (auto unmanaged = refuse_unmanaged(tools, *located, options.branch, result); !unmanaged) return unmanaged;
    result.warnings.push_back({"worktree_not_found", "hedge knows no worktree " + printable(options.branch) +
                                                         " of this repository: there is nothing to destroy"});
    conclude_destroyed(result);
    return {};
  }
  if (auto meant = refuse_mere_slug(tools, *record, options.branch); !meant) return meant;
  result.workspace = workspace_facts(*record);
  if (options.rehearsal == Rehearsal::yes) return rehearse(tools, *record, options.how, result);
  auto done = tools.lifecycle.destroy(*record, options.how);
  if (!done) return done.error();
  report(*done, result);
  return {};
}

}  // namespace

ContractResult destroy(const Instruments& tools, const std::filesystem::path& caller, const DestroyOptions& options) {
  ContractResult result;
  result.command = "destroy";
  result.is_rehearsal = options.rehearsal == Rehearsal::yes;
  const Stopwatch watch(tools.clock);
  if (auto done = destroy_into(tools, caller, options, result); !done) fail_with(result, done.error());
  result.duration = watch.elapsed();
  return result;
}

}  // namespace hedge::contract
