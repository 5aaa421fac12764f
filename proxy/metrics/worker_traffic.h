// One worker's counts for each worktree.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "proxy/metrics/worktree_counts.h"
#include "router/route_table.h"

namespace hedge::proxy {

// Labels of what is no worktree. No id has an underscore in front.
inline constexpr std::string_view kUnownedLabel = "_unowned";    // routes that somebody made by hand
inline constexpr std::string_view kUnroutedLabel = "_unrouted";  // no route has the host, or there is none
inline constexpr std::string_view kOtherLabel = "_other";        // worktrees beyond the bound

using TrafficTotals = std::map<std::string, WorktreeTotals, std::less<>>;

// Cells are found and counted without a lock. The lock guards the list of worktrees, which only the worker
// changes: it looks without, changes with it, and other threads look with it.
class WorkerTraffic {
 public:
  // Further worktrees are counted together.
  static constexpr std::size_t kMostWorktrees = 1000;

  // On the worker's thread.

  // Lifetime: until forget_absent() finds it without an open request.
  WorktreeMeter& meter_of(const router::Route& route);
  WorktreeMeter& unrouted() noexcept { return unrouted_; }
  // Drops the counts of worktrees that have no route any more. Those with open requests stay: call it again.
  void forget_absent(const router::RouteTable& table);

  // Any thread.

  void add_to(TrafficTotals& totals) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Entry {
    std::string host;  // of one of its routes: the first place to look whether it is still there
    WorktreeMeter meter;
  };

  static bool is_there(const std::string& worktree, Entry& entry, const router::RouteTable& table);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Entry>, Hash, std::equal_to<>> entries_;
  WorktreeMeter unowned_;
  WorktreeMeter unrouted_;
  WorktreeMeter other_;
};

}  // namespace hedge::proxy
