// A part of a RouteTable: the routes whose hosts' hashes begin alike.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "router/route.h"

namespace hedge::router {

// FNV-1a from the last byte to the first, so that hashing a host also gives the hash of each parent on the
// way. Table keys come from the machine's owner, not from clients: no secret seed is needed.
inline constexpr std::uint64_t kHostHashStart = 14695981039346656037ULL;
constexpr std::uint64_t host_hash_step(std::uint64_t hash, char c) {
  return (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
}
// FNV's low bits are its weakest.
constexpr std::uint32_t fold_host_hash(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}
std::uint32_t hash_of_host(std::string_view host);

class RouteShard {
 public:
  // Of two routes with the same host and match the later wins.
  explicit RouteShard(std::vector<Route> routes);

  const Route* find_exact(std::uint32_t hash, std::string_view host) const;
  const Route* find_wildcard(std::uint32_t hash, std::string_view host) const;
  const std::vector<Route>& routes() const { return routes_; }
  std::size_t wildcards() const { return wildcards_; }

 private:
  // Open addressing: positions in routes_, keyed by host. The hash beside each decides most probes without a
  // look at the route, so that 100,000 routes cost 2 MiB and a look-up one or two cache lines.
  class Index {
   public:
    Index() = default;
    explicit Index(std::size_t count);
    // Where `host` is or would be.
    std::size_t place_of(std::uint32_t hash, std::string_view host, const std::vector<Route>& routes) const;
    const Route* find(std::uint32_t hash, std::string_view host, const std::vector<Route>& routes) const;

    static constexpr std::uint32_t kEmpty = 0xffffffff;
    struct Slot {
      std::uint32_t hash = 0;
      std::uint32_t position = kEmpty;
    };
    std::vector<Slot> slots;
  };

  void index(Route&& route);

  std::vector<Route> routes_;
  std::size_t wildcards_ = 0;
  Index exact_;
  Index wildcard_;
};

}  // namespace hedge::router
