#include "proxy/metrics/worker_traffic.h"

#include <utility>
#include <vector>

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
  if (route != nullptr && route->host == entry.host && route->worktree == worktree) return true;
  bool is_found = false;
  table.for_each([&](const router::Route& one) {
    is_found = one.worktree == worktree;
    if (is_found) entry.host = one.host;
    return !is_found;
  });
  return is_found;
}

void WorkerTraffic::forget_absent(const router::RouteTable& table) {
  std::vector<std::string> gone;
  for (const auto& [worktree, entry] : entries_) {
    if (entry->meter.requests_open.value() == 0 && !is_there(worktree, *entry, table))
      gone.push_back(worktree);
  }
  if (gone.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const std::string& worktree : gone) entries_.erase(worktree);
}

void WorkerTraffic::add_to(TrafficTotals& totals) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [worktree, entry] : entries_) add(totals[worktree], entry->meter);
  add(totals[std::string(kUnownedLabel)], unowned_);
  add(totals[std::string(kUnroutedLabel)], unrouted_);
  add(totals[std::string(kOtherLabel)], other_);
}

}  // namespace hedge::proxy
