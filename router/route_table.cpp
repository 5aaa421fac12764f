#include "router/route_table.h"

#include <array>
#include <bit>

#include "base/text.h"

namespace hedge::router {
namespace {

constexpr std::size_t kLongestHost = 253;
constexpr std::size_t kMostLabels = 127;

// FNV-1a from the last byte to the first, so that hashing a host also gives the hash of each parent on the
// way. Table keys come from the machine's owner, not from clients: no secret seed is needed.
constexpr std::uint64_t kHashStart = 14695981039346656037ULL;
constexpr std::uint64_t hash_step(std::uint64_t hash, char c) {
  return (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
}
// FNV's low bits are its weakest.
constexpr std::uint32_t fold(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

std::uint32_t hash_of(std::string_view host) {
  std::uint64_t hash = kHashStart;
  for (auto c = host.rbegin(); c != host.rend(); ++c) hash = hash_step(hash, *c);
  return fold(hash);
}

}  // namespace

RouteTable::Index::Index(std::size_t count) {
  // At most half full: a miss ends after one or two probes.
  if (count > 0) slots_.resize(std::bit_ceil(count * 2));
}

void RouteTable::Index::insert(std::uint32_t hash, std::uint32_t position, const std::vector<Route>& routes) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.position != kEmpty && (slot.hash != hash || routes[slot.position].host != routes[position].host))
      continue;
    slot = Slot{hash, position};
    return;
  }
}

const Route* RouteTable::Index::find(std::uint32_t hash, std::string_view host,
                                     const std::vector<Route>& routes) const {
  if (slots_.empty()) return nullptr;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.position == kEmpty) return nullptr;
    if (slot.hash == hash && routes[slot.position].host == host) return &routes[slot.position];
  }
}

std::shared_ptr<const RouteTable> RouteTable::build(std::vector<Route> routes) {
  return std::shared_ptr<const RouteTable>(new RouteTable(std::move(routes)));
}

RouteTable::RouteTable(std::vector<Route> routes) : routes_(std::move(routes)) {
  std::size_t wildcards = 0;
  for (const Route& route : routes_) wildcards += route.match == HostMatch::exact_and_below ? 1 : 0;
  exact_ = Index(routes_.size() - wildcards);
  wildcard_ = Index(wildcards);
  for (std::uint32_t i = 0; i < routes_.size(); ++i) {
    const Route& route = routes_[i];
    Index& index = route.match == HostMatch::exact ? exact_ : wildcard_;
    index.insert(hash_of(route.host), i, routes_);
  }
}

const Route* RouteTable::find(std::string_view host) const {
  if (host.empty() || host.size() > kLongestHost) return nullptr;
  std::array<char, kLongestHost> lower;  // NOLINT: only the first host.size() bytes are read
  for (std::size_t i = 0; i < host.size(); ++i) lower[i] = ascii_lower(host[i]);
  const std::string_view name(lower.data(), host.size());
  if (const Route* found = exact_.find(hash_of(name), name, routes_)) return found;
  return wildcard_.empty() ? nullptr : find_wildcard(name);
}

const Route* RouteTable::find_wildcard(std::string_view lower_host) const {
  struct Suffix {
    std::size_t start;
    std::uint32_t hash;
  };
  std::array<Suffix, kMostLabels + 1> suffixes;  // NOLINT: the first `count` are set below
  std::size_t count = 0;
  std::uint64_t hash = kHashStart;
  for (std::size_t i = lower_host.size(); i-- > 0;) {
    if (lower_host[i] == '.' && count < kMostLabels) suffixes[count++] = Suffix{i + 1, fold(hash)};
    hash = hash_step(hash, lower_host[i]);
  }
  suffixes[count++] = Suffix{0, fold(hash)};
  // The longest suffix was found last.
  while (count-- > 0) {
    const Suffix& suffix = suffixes[count];
    if (const Route* found = wildcard_.find(suffix.hash, lower_host.substr(suffix.start), routes_))
      return found;
  }
  return nullptr;
}

}  // namespace hedge::router
