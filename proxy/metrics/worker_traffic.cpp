#include "proxy/metrics/worker_traffic.h"

#include <utility>

namespace hedge::proxy {

WorktreeMeter& WorkerTraffic::meter_of(const router::Route& route) {
  if (route.worktree.empty()) return unowned_;
  const auto found = entries_.find(std::string_view(route.worktree));
  if (found != entries_.end()) return found->second->meter;
  if (entries_.size() >= kMostWorktrees) return other_;
  auto entry = std::make_unique<Entry>();
  entry->host = route.host;
  WorktreeMeter& meter = entry->meter;
  const std::lock_guard lock(mutex_);
  entries_.emplace(route.worktree, std::move(entry));
  return meter;
}

bool WorkerTraffic::is_there(const std::string& worktree, Entry& entry, const router::RouteTable& table) {
  const router::Route* route = table.find(entry.host);
  return route != nullptr && route->host == entry.host && route->worktree == worktree;
}

void WorkerTraffic::forget_absent(const router::RouteTable& table) {
  std::unordered_map<std::string_view, Entry*> missing;
  for (const auto& [worktree, entry] : entries_) {
    if (entry->meter.requests_open.value() == 0 && !is_there(worktree, *entry, table))
      missing.emplace(worktree, entry.get());
  }
  if (missing.empty()) return;
  // Perhaps under another host. One pass for all of them: the table may be large, and clients wait meanwhile.
  table.for_each([&missing](const router::Route& route) {
    const auto found = missing.find(route.worktree);
    if (found == missing.end()) return true;
    found->second->host = route.host;
    missing.erase(found);
    return !missing.empty();
  });
  const std::lock_guard lock(mutex_);
  for (const auto& [worktree, entry] : missing) entries_.erase(entries_.find(worktree));
}

void WorkerTraffic::add_to(TrafficTotals& totals) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [worktree, entry] : entries_) add(totals[worktree], entry->meter);
  add(totals[std::string(kUnownedLabel)], unowned_);
  add(totals[std::string(kUnroutedLabel)], unrouted_);
  add(totals[std::string(kOtherLabel)], other_);
}

}  // namespace hedge::proxy
