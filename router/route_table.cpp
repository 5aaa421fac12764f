#include "router/route_table.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "router/route_shard.h"

namespace hedge::router {
namespace {

constexpr std::size_t kLongestHost = 253;
constexpr std::size_t kMostLabels = 127;

}  // namespace

void RouteTable::set_shard(std::size_t number, std::vector<Route> routes) {
  std::shared_ptr<const RouteShard>& shard = shards_[number];
  if (shard != nullptr) {
    size_ -= shard->routes().size();
    wildcards_ -= shard->wildcards();
  }
  if (routes.empty()) {
    shard = nullptr;
    return;
  }
  shard = std::make_shared<const RouteShard>(std::move(routes));
  size_ += shard->routes().size();
  wildcards_ += shard->wildcards();
}

std::shared_ptr<const RouteTable> RouteTable::build(std::vector<Route> routes) {
  std::array<std::size_t, kShards> counts{};
  for (const Route& route : routes) ++counts[hash_of_host(route.host) >> kShardShift];
  std::vector<std::vector<Route>> parts(kShards);
  for (std::size_t i = 0; i < kShards; ++i) parts[i].reserve(counts[i]);
  for (Route& route : routes) parts[hash_of_host(route.host) >> kShardShift].push_back(std::move(route));
  routes = {};
  const std::shared_ptr<RouteTable> table(new RouteTable());
  for (std::size_t i = 0; i < kShards; ++i) {
    if (!parts[i].empty()) table->set_shard(i, std::move(parts[i]));
  }
  return table;
}

std::shared_ptr<const RouteTable> RouteTable::with(const RouteChanges& changes) const {
  std::unordered_set<std::string_view> touched;
  std::unordered_map<std::size_t, std::vector<Route>> parts;  // by shard; with what is new
  for (const Route& route : changes.put) {
    touched.insert(route.host);
    parts[hash_of_host(route.host) >> kShardShift].push_back(route);
  }
  for (const std::string& host : changes.removed) {
    touched.insert(host);
    parts.try_emplace(hash_of_host(host) >> kShardShift);
  }
  const std::shared_ptr<RouteTable> table(new RouteTable(*this));
  for (auto& [number, routes] : parts) {
    if (shards_[number] != nullptr) {
      for (const Route& route : shards_[number]->routes()) {
        if (!touched.contains(route.host)) routes.push_back(route);
      }
    }
    table->set_shard(number, std::move(routes));
  }
  return table;
}

const Route* RouteTable::find(std::string_view host) const {
  if (host.empty() || host.size() > kLongestHost) return nullptr;
  std::array<char, kLongestHost> lower;  // NOLINT: only the first host.size() bytes are read
  for (std::size_t i = 0; i < host.size(); ++i) lower[i] = ascii_lower(host[i]);
  const std::string_view name(lower.data(), host.size());
  const std::uint32_t hash = hash_of_host(name);
  if (const RouteShard* shard = shards_[hash >> kShardShift].get()) {
    if (const Route* found = shard->find_exact(hash, name)) return found;
  }
  return wildcards_ == 0 ? nullptr : find_wildcard(name);
}

const Route* RouteTable::find_made_for(std::string_view host) const {
  const std::uint32_t hash = hash_of_host(host);
  const RouteShard* shard = shards_[hash >> kShardShift].get();
  if (shard == nullptr) return nullptr;
  const Route* exact = shard->find_exact(hash, host);
  return exact != nullptr ? exact : shard->find_wildcard(hash, host);
}

const Route* RouteTable::find_wildcard(std::string_view lower_host) const {
  struct Suffix {
    std::size_t start;
    std::uint32_t hash;
  };
  std::array<Suffix, kMostLabels + 1> suffixes;  // NOLINT: the first `count` are set below
  std::size_t count = 0;
  std::uint64_t hash = kHostHashStart;
  for (std::size_t i = lower_host.size(); i-- > 0;) {
    if (lower_host[i] == '.' && count < kMostLabels) suffixes[count++] = Suffix{i + 1, fold_host_hash(hash)};
    hash = host_hash_step(hash, lower_host[i]);
  }
  suffixes[count++] = Suffix{0, fold_host_hash(hash)};
  // The longest suffix was found last.
  while (count-- > 0) {
    const Suffix& suffix = suffixes[count];
    const RouteShard* shard = shards_[suffix.hash >> kShardShift].get();
    if (shard == nullptr) continue;
    if (const Route* found = shard->find_wildcard(suffix.hash, lower_host.substr(suffix.start))) return found;
  }
  return nullptr;
}

void RouteTable::for_each(const std::function<bool(const Route&)>& visit) const {
  for (const std::shared_ptr<const RouteShard>& shard : shards_) {
    if (shard == nullptr) continue;
    for (const Route& route : shard->routes()) {
      if (!visit(route)) return;
    }
  }
}

void RouteTable::for_each_not_shared_with(const RouteTable& other,
                                          const std::function<void(const Route&)>& visit) const {
  for (std::size_t i = 0; i < kShards; ++i) {
    if (shards_[i] == nullptr || shards_[i] == other.shards_[i]) continue;
    for (const Route& route : shards_[i]->routes()) visit(route);
  }
}

std::vector<const Route*> routes_by_host(const RouteTable& table) {
  std::vector<const Route*> out;
  out.reserve(table.size());
  table.for_each([&out](const Route& route) {
    out.push_back(&route);
    return true;
  });
  std::sort(out.begin(), out.end(), [](const Route* a, const Route* b) { return a->host < b->host; });
  return out;
}

}  // namespace hedge::router
