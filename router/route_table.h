// The immutable snapshot that workers look hosts up in. Built once, then only read, by any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "router/route.h"

namespace hedge::router {

class RouteTable {
 public:
  // Requires: hosts are canonical. Of two routes with the same host and match the later wins.
  static std::shared_ptr<const RouteTable> build(std::vector<Route> routes);

  // `host` in any case, without port or trailing dot. An exact route wins; otherwise the longest wildcard above it; a parent
  // that is not a wildcard never answers for a child. Null if none. Does not allocate.
  // Lifetime: the Route lives as long as the table.
  const Route* find(std::string_view host) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  explicit RouteTable(std::vector<Route> routes);
  const Route* find_wildcard(std::string_view lower_host) const;

  std::vector<Route> routes_;
  // An open-addressing index of positions in routes_, keyed by host: 100,000 routes stay small and one cache line away.
  std::vector<std::uint32_t> exact_;
  std::vector<std::uint32_t> wildcard_;
};

}  // namespace hedge::router
