// The immutable snapshot that workers look hosts up in. Built once, then only read, by any number of threads.
//
// A table that follows another shares with it every shard that did not change, so that one change among
// 100,000 routes copies about a hundred.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/route.h"

namespace hedge::router {

class RouteShard;

// What differs from one table to the next.
struct RouteChanges {
  std::vector<Route> put;            // each in the place of whatever has its host
  std::vector<std::string> removed;  // hosts that have no route any more
};

class RouteTable {
 public:
  // Requires: hosts are canonical. Of two routes with the same host and match the later wins.
  static std::shared_ptr<const RouteTable> build(std::vector<Route> routes);
  // This table with the changes. Requires: no host is in both parts of them.
  std::shared_ptr<const RouteTable> with(const RouteChanges& changes) const;

  // `host` in any case, without port or trailing dot. An exact route wins; otherwise the longest wildcard
  // above it; a parent that is not a wildcard never answers for a child. Null if none. Does not allocate.
  // Lifetime: the Route lives as long as the table.
  const Route* find(std::string_view host) const;
  // The route that was made for just this host, whatever its match. `host` is canonical.
  const Route* find_made_for(std::string_view host) const;

  std::size_t size() const { return size_; }
  // In no particular order, until `visit` returns false.
  void for_each(const std::function<bool(const Route&)>& visit) const;
  // All that may differ from the routes of `other`; what both tables share is passed over.
  void for_each_not_shared_with(const RouteTable& other, const std::function<void(const Route&)>& visit) const;

 private:
  // Of the hash's bits the upper ones choose the shard, the lower ones the place in it.
  static constexpr std::size_t kShards = 1024;
  static constexpr unsigned kShardShift = 22;
  using Shards = std::array<std::shared_ptr<const RouteShard>, kShards>;

  RouteTable() = default;
  const Route* find_wildcard(std::string_view lower_host) const;
  void set_shard(std::size_t number, std::vector<Route> routes);

  Shards shards_;  // null: no route there
  std::size_t size_ = 0;
  std::size_t wildcards_ = 0;
};

// Ordered by host, for people. Lifetime: the table's.
std::vector<const Route*> routes_by_host(const RouteTable& table);

}  // namespace hedge::router
