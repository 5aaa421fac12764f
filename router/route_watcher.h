// Turns what the store and the settings file say into the table that the edge publishes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/route_store.h"
#include "router/route_table.h"

namespace hedge::router {

struct RouteSnapshot {
  std::shared_ptr<const RouteTable> table;
  // One line each: an unreadable store or record, a stored route that a static one hides.
  std::vector<std::string> warnings;
};

// Single-threaded, never waits longer than the store's busy limit. Nothing here resolves a name.
//
// A static route wins over a stored one for the same host: the settings file is the operator's own word and
// has to work without the manager. The hidden route is named in a warning.
class RouteWatcher {
 public:
  using OpenStore = std::function<Result<std::unique_ptr<RouteStore>>()>;

  RouteWatcher(OpenStore open_store, std::vector<Route> static_routes);

  // Takes effect with the next load().
  void set_static_routes(std::vector<Route> routes);

  // Reads the store; of one that keeps account of its changes, only what has changed since the last time. One
  // that cannot be read leaves the routes read before (at the start: none) and the static ones.
  RouteSnapshot load();

  // Absent: nothing has changed since the last load. A store that could not be read is tried again.
  std::optional<RouteSnapshot> load_if_changed();

  // Null while the store cannot be opened. For changes through the control API: follow them by load().
  RouteStore* store() { return store_.get(); }
  bool is_static(std::string_view host) const;

 private:
  using Table = std::shared_ptr<const RouteTable>;
  using WarningsByHost = std::map<std::string, std::string>;

  std::optional<Error> read_store();
  // False: everything must be read.
  Result<bool> read_changes();
  Result<void> read_all();
  void apply(const ChangedRoutes& changes);
  // Puts the static routes over the stored ones.
  void merge();
  // Tells whether a static route hides it, and warns.
  bool is_hidden(const Route& stored);
  RouteSnapshot snapshot(const std::optional<Error>& failure) const;

  OpenStore open_store_;
  Table static_routes_;
  std::unique_ptr<RouteStore> store_;
  // Of what could be read last; the two share what they can.
  Table stored_ = RouteTable::build({});
  Table merged_;
  WarningsByHost unreadable_;
  WarningsByHost hidden_;
  std::optional<std::int64_t> mark_;  // up to which the store's changes are in stored_; absent: nothing is
  std::int64_t seen_version_ = 0;     // the store's version before it was read
  std::string last_failure_;          // so that a lasting failure is published once
};

}  // namespace hedge::router
