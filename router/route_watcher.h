// Turns what the store and the settings file say into the table that the edge publishes.
#pragma once

#include <cstdint>
#include <functional>
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

  // Reads the store. One that cannot be read leaves the routes read before (at the start: none) and the
  // static ones.
  RouteSnapshot load();

  // Absent: nothing has changed since the last load. A store that could not be read is tried again.
  std::optional<RouteSnapshot> load_if_changed();

  // Null while the store cannot be opened. For changes through the control API: follow them by load().
  RouteStore* store() { return store_.get(); }
  bool is_static(std::string_view host) const;

 private:
  std::optional<Error> read_store();
  RouteSnapshot merge(const std::optional<Error>& failure) const;

  OpenStore open_store_;
  std::shared_ptr<const RouteTable> static_routes_;
  std::unique_ptr<RouteStore> store_;
  LoadedRoutes stored_;            // the last that could be read
  std::int64_t seen_version_ = 0;  // the store's version before it was read
  std::string last_failure_;       // so that a lasting failure is published once
};

}  // namespace hedge::router
