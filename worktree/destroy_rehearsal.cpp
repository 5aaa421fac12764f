#include "worktree/destroy_rehearsal.h"

#include <algorithm>
#include <utility>

#include "worktree/git/branch_resource.h"

namespace hedge::worktree {
namespace {

Result<bool> stays(const RehearsalParts& parts, const WorktreeRecord& record, const ResourceSpec& spec,
                   const DestroyReport& report, const DestroyOptions& options) {
  if (spec.kind == kBranchKind && options.branch == BranchPolicy::keep) return true;
  if (report.scope == RemovalScope::everything) return false;
  auto resource = parts.kinds.make(spec, record);
  if (!resource) return resource.error();
  return (*resource)->lives_in_checkout();
}

}  // namespace

Result<DestroyReport> rehearse_destroy(const RehearsalParts& parts, const WorktreeRecord& record,
                                       const DestroyOptions& options) {
  if (auto allowed = require_linked(record); !allowed) return allowed.error();
  if (const auto idle = parts.locks.require_idle(record.id); !idle) return idle.error();
  auto guarded = guard_destroy(parts.git, record, options, GuardMode::rehearse);
  if (!guarded) return guarded;
  auto entries = parts.ledger.load(record.id);
  if (!entries) return entries.error();
  std::ranges::reverse(*entries);
  DestroyReport report = std::move(*guarded);
  for (const LedgerEntry& entry : *entries) {
    auto kept = stays(parts, record, entry.spec, report, options);
    if (!kept) return kept.error();
    if (!*kept) report.removal.changes.push_back({entry.spec.kind, entry.spec.name, Action::removed, {}});
  }
  return report;
}

}  // namespace hedge::worktree
