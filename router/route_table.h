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

  // `host` in any case, without port or trailing dot. An exact route wins; otherwise the longest wildcard
  // above it; a parent that is not a wildcard never answers for a child. Null if none. Does not allocate.
  // Lifetime: the Route lives as long as the table.
  const Route* find(std::string_view host) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  explicit RouteTable(std::vector<Route> routes);
  const Route* find_wildcard(std::string_view lower_host) const;

  // Open addressing: positions in routes_, keyed by host. The hash beside each decides most probes without a
  // look at the route, so that 100,000 routes cost 2 MiB and a look-up one or two cache lines.
  class Index {
   public:
    Index() = default;
    explicit Index(std::size_t count);
    // Replaces an entry of the same host.
    void insert(std::uint32_t hash, std::uint32_t position, const std::vector<Route>& routes);
    const Route* find(std::uint32_t hash, std::string_view host, const std::vector<Route>& routes) const;
    bool empty() const { return slots_.empty(); }

   private:
    static constexpr std::uint32_t kEmpty = 0xffffffff;
    struct Slot {
      std::uint32_t hash = 0;
      std::uint32_t position = kEmpty;
    };
    std::vector<Slot> slots_;
  };

  std::vector<Route> routes_;
  Index exact_;
  Index wildcard_;
};

}  // namespace hedge::router
