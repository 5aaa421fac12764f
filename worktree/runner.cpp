#include "worktree/runner.h"

#include <algorithm>

#include "worktree/git/checkout_resource.h"

namespace hedge::worktree {
namespace {

Error foreign_error(const ResourceSpec& spec, const Finding& finding) {
  if (!finding.problems.empty()) return finding.problems.front();
  return Error(ErrorKind::conflict,
               spec.kind + " " + spec.name + " belongs to somebody else: " + finding.detail)
      .with_id("ownership_conflict");
}

Error unknown_error(const ResourceSpec& spec, const Finding& finding) {
  const std::string what = spec.kind + " " + spec.name;
  if (!finding.problems.empty()) return Error(finding.problems.front()).with_context(what);
  return Error(ErrorKind::unavailable, what + " could not be looked at: " + finding.detail);
}

bool means_server_is_down(const Error& error) {
  return error.kind() == ErrorKind::unavailable || error.kind() == ErrorKind::timed_out;
}

}  // namespace

Result<bool> Runner::has_closed_entry(const WorktreeRecord& record, const ResourceSpec& spec) {
  auto entries = ledger_.load(record.id);
  if (!entries) return entries.error();
  return std::ranges::any_of(*entries, [&spec](const LedgerEntry& entry) {
    return entry.state == EntryState::made && entry.spec.kind == spec.kind && entry.spec.name == spec.name &&
           entry.spec.parameters == spec.parameters;
  });
}

// The ledger has one entry for a name: whatever else stands under it must go before its entry does.
Result<void> Runner::remove_predecessor(const WorktreeRecord& record, const ResourceSpec& spec) {
  auto entries = ledger_.load(record.id);
  if (!entries) return entries.error();
  const auto old = std::ranges::find_if(*entries, [&](const LedgerEntry& entry) {
    return entry.spec.kind == spec.kind && entry.spec.name == spec.name &&
           !kinds_.is_same_thing(entry.spec, spec);
  });
  if (old == entries->end()) return {};
  auto removed = remove(record, old->spec);
  if (removed) return {};
  Error error = std::move(removed).error().with_context("remove the former " + spec.kind + " " + spec.name);
  if (error.kind() != ErrorKind::cancelled)
    (void)ledger_.failed(record.id, old->spec, EntryState::removing, error.to_string());
  return error;
}

Result<Change> Runner::converge(const WorktreeRecord& record, const ResourceSpec& spec) {
  if (auto cleared = remove_predecessor(record, spec); !cleared) return cleared.error();
  auto resource = kinds_.make(spec, record);
  if (!resource) return resource.error();
  auto finding = (*resource)->check();
  if (!finding) return std::move(finding).error().with_context(spec.kind + " " + spec.name);
  if (finding->presence == Presence::foreign) return foreign_error(spec, *finding);
  // Nothing is begun in the dark: an entry would claim what may be somebody else's.
  if (finding->presence == Presence::unknown) return unknown_error(spec, *finding);
  if (finding->presence == Presence::present) {
    auto is_closed = has_closed_entry(record, spec);
    if (!is_closed) return is_closed.error();
    // A killed run made it and did not come to say so.
    if (!*is_closed) {
      if (auto begun = ledger_.begin_making(record.id, spec); !begun) return begun.error();
      if (auto closed = ledger_.made(record.id, spec); !closed) return closed.error();
    }
    return Change{spec.kind, spec.name, Action::none, finding->detail};
  }
  if (auto begun = ledger_.begin_making(record.id, spec); !begun) return begun.error();
  if (auto told = observer_.on_step(Stage::begun, spec); !told) return told.error();
  auto change = (*resource)->converge();
  if (!change) {
    Error error = std::move(change).error().with_context(spec.kind + " " + spec.name);
    // What was being done is the first cause; that the note of it failed too would only hide it.
    (void)ledger_.failed(record.id, spec, EntryState::making, error.to_string());
    return error;
  }
  if (auto told = observer_.on_step(Stage::effected, spec); !told) return told.error();
  if (auto closed = ledger_.made(record.id, spec); !closed) return closed.error();
  if (auto told = observer_.on_step(Stage::closed, spec); !told) return told.error();
  return change;
}

Result<std::vector<Change>> Runner::converge_all(const WorktreeRecord& record,
                                                 const std::vector<ResourceSpec>& plan) {
  std::vector<Change> changes;
  for (const ResourceSpec& spec : plan) {
    auto change = converge(record, spec);
    if (!change) return change.error();
    changes.push_back(std::move(*change));
  }
  return changes;
}

Result<Change> Runner::remove(const WorktreeRecord& record, const ResourceSpec& spec, RemovalScope scope) {
  auto resource = kinds_.make(spec, record);
  if (!resource) return resource.error();
  if (scope == RemovalScope::outside_of_checkout && (*resource)->lives_in_checkout()) {
    if (auto forgotten = (*resource)->forget(); !forgotten) return forgotten.error();
    if (auto dropped = ledger_.removed(record.id, spec); !dropped) return dropped.error();
    return Change{spec.kind, spec.name, Action::none, "went with the checkout"};
  }
  if (auto begun = ledger_.begin_removing(record.id, spec); !begun) return begun.error();
  if (auto told = observer_.on_step(Stage::begun, spec); !told) return told.error();
  auto change = (*resource)->remove();
  if (!change) return change;
  if (auto told = observer_.on_step(Stage::effected, spec); !told) return told.error();
  if (auto closed = ledger_.removed(record.id, spec); !closed) return closed.error();
  if (auto told = observer_.on_step(Stage::closed, spec); !told) return told.error();
  return change;
}

Result<RemovalReport> Runner::remove_all(const WorktreeRecord& record, RemovalScope scope) {
  auto entries = ledger_.load(record.id);
  if (!entries) return entries.error();
  std::ranges::reverse(*entries);
  RemovalReport report;
  for (const LedgerEntry& entry : *entries) {
    if (entry.spec.kind == kCheckoutKind && !report.survivors.empty() && !only_debts(report)) {
      report.survivors.push_back(
          {entry.spec,
           Error(ErrorKind::refused, "kept, because something that lives in it could not be removed"),
           false});
      continue;
    }
    auto change = remove(record, entry.spec, scope);
    if (change) {
      if (change->action != Action::none) report.changes.push_back(std::move(*change));
      continue;
    }
    // Cancelled: the observer ended the run; everything else is one resource's own affair.
    if (change.error().kind() == ErrorKind::cancelled) return change.error();
    const bool is_debt = means_server_is_down(change.error());
    (void)ledger_.failed(record.id, entry.spec, is_debt ? EntryState::debt : EntryState::removing,
                         change.error().to_string());
    report.survivors.push_back({entry.spec, std::move(change).error(), is_debt});
  }
  return report;
}

bool Runner::only_debts(const RemovalReport& report) {
  return std::ranges::all_of(report.survivors, [](const Survivor& survivor) { return survivor.is_debt; });
}

}  // namespace hedge::worktree
