// Where routes are kept. SQLite on one machine; the same interface serves several.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "router/route.h"

namespace hedge::router {

// A record that could not be read. It costs its own route, never the table.
struct UnreadableRoute {
  std::string host;  // as far as it can be told
  Error reason;
};

struct LoadedRoutes {
  std::vector<Route> routes;
  std::vector<UnreadableRoute> unreadable;
  std::int64_t mark = 0;  // for load_changes()
};

// What the hosts that were changed are now.
struct ChangedRoutes {
  std::vector<Route> put;
  std::vector<std::string> removed;         // no longer there, or not readable
  std::vector<UnreadableRoute> unreadable;  // the reasons of those
  std::int64_t mark = 0;                    // for the next time
};

class RouteStore {
 public:
  virtual ~RouteStore() = default;

  virtual Result<LoadedRoutes> load_all() = 0;

  // What has changed since `mark` was told, by whomever; a change made meanwhile may be told twice and is never
  // missed. Absent: the store no longer knows, or does not keep account; load_all() tells.
  virtual Result<std::optional<ChangedRoutes>> load_changes(std::int64_t /*mark*/) {
    return std::optional<ChangedRoutes>();
  }

  // Adds or replaces the route of `route.host`.
  // Errors: conflict `route_conflict`, if the host belongs to another worktree (or to a hand-made route while
  // `route.worktree` is not empty, or the other way round); no_space `disk_full`; state errors.
  virtual Result<void> put(const Route& route) = 0;

  // Removes the host's route if it is owned by `worktree`. The absent one is success (false).
  // Errors: conflict `route_conflict`, if another owner has it.
  virtual Result<bool> remove(std::string_view host, std::string_view worktree) = 0;

  // Sets the state of every route of a worktree. Returns how many there are.
  virtual Result<int> set_state(std::string_view worktree, RouteState state) = 0;

  // A number that differs whenever somebody else has changed the store since the last call.
  virtual Result<std::int64_t> version() = 0;
};

}  // namespace hedge::router
