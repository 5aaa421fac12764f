#include "router/route_shard.h"

#include <bit>
#include <utility>

namespace hedge::router {

std::uint32_t hash_of_host(std::string_view host) {
  std::uint64_t hash = kHostHashStart;
  for (auto c = host.rbegin(); c != host.rend(); ++c) hash = host_hash_step(hash, *c);
  return fold_host_hash(hash);
}

// At most half full: a miss ends after one or two probes.
RouteShard::Index::Index(std::size_t count) {
  if (count > 0) slots.resize(std::bit_ceil(count * 2));
}

std::size_t RouteShard::Index::place_of(std::uint32_t hash, std::string_view host,
                                        const std::vector<Route>& routes) const {
  const std::size_t mask = slots.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots[at];
    if (slot.position == kEmpty || (slot.hash == hash && routes[slot.position].host == host)) return at;
  }
}

const Route* RouteShard::Index::find(std::uint32_t hash, std::string_view host,
                                     const std::vector<Route>& routes) const {
  if (slots.empty()) return nullptr;
  const Slot& slot = slots[place_of(hash, host, routes)];
  return slot.position == kEmpty ? nullptr : &routes[slot.position];
}

RouteShard::RouteShard(std::vector<Route> routes) {
  std::size_t wildcards = 0;
  for (const Route& route : routes) wildcards += route.match == HostMatch::exact_and_below ? 1 : 0;
  exact_ = Index(routes.size() - wildcards);
  wildcard_ = Index(wildcards);
  routes_.reserve(routes.size());
  for (Route& route : routes) index(std::move(route));
}

void RouteShard::index(Route&& route) {
  const bool is_wildcard = route.match == HostMatch::exact_and_below;
  Index& index = is_wildcard ? wildcard_ : exact_;
  const std::uint32_t hash = hash_of_host(route.host);
  Index::Slot& slot = index.slots[index.place_of(hash, route.host, routes_)];
  if (slot.position != Index::kEmpty) {
    routes_[slot.position] = std::move(route);
    return;
  }
  slot = Index::Slot{hash, static_cast<std::uint32_t>(routes_.size())};
  routes_.push_back(std::move(route));
  wildcards_ += is_wildcard ? 1 : 0;
}

const Route* RouteShard::find_exact(std::uint32_t hash, std::string_view host) const {
  return exact_.find(hash, host, routes_);
}

const Route* RouteShard::find_wildcard(std::uint32_t hash, std::string_view host) const {
  return wildcard_.find(hash, host, routes_);
}

}  // namespace hedge::router
