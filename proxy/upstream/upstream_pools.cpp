#include "proxy/upstream/upstream_pools.h"

#include <algorithm>
#include <utility>

#include "proxy/upstream/connector.h"
#include "proxy/upstream/resolver.h"

namespace hedge::proxy {
namespace {

using Now = std::chrono::steady_clock;

std::chrono::microseconds since(Now::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Now::now() - start);
}

// The name that an https upstream is asked for and must have a certificate for.
std::string_view server_name_of(const router::Route& route) {
  if (route.protocol != router::Protocol::https) return {};
  if (const auto* dns = std::get_if<router::DnsUpstream>(&route.upstream)) return dns->name;
  return route.host;
}

}  // namespace

// --- UpstreamPool ---

UpstreamConnection UpstreamPool::take(Millis now) {
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    // Bytes or an end while idle: the connection is of no use. The kernel is asked only where the flag says so.
    if (last.until > now && !last.connection.is_disturbed()) return std::move(last.connection);
  }
  return {};
}

void UpstreamPool::give(UpstreamConnection connection, Millis until) {
  if (idle_.size() >= kMostIdlePerIdentity) return;
  idle_.push_back(Idle{std::move(connection), until});
}

// --- UpstreamLease ---

UpstreamLease::UpstreamLease(UpstreamLease&& other) noexcept
    : pools_(other.pools_),
      pool_(std::exchange(other.pool_, nullptr)),
      connection_(std::move(other.connection_)),
      upstream_(std::move(other.upstream_)),
      timings_(other.timings_),
      retirements_(other.retirements_),
      reused_(other.reused_) {}

UpstreamLease& UpstreamLease::operator=(UpstreamLease&& other) noexcept {
  if (this != &other) {
    drop();
    pools_ = other.pools_;
    pool_ = std::exchange(other.pool_, nullptr);
    connection_ = std::move(other.connection_);
    upstream_ = std::move(other.upstream_);
    timings_ = other.timings_;
    retirements_ = other.retirements_;
    reused_ = other.reused_;
  }
  return *this;
}

UpstreamLease::~UpstreamLease() {
  drop();
}

ByteStream& UpstreamLease::stream() const noexcept {
  return connection_.stream();
}

void UpstreamLease::keep(std::chrono::milliseconds idle_limit) {
  if (pool_ == nullptr) return;
  ByteStream& kept = connection_.stream();
  kept.watch_peer(nullptr);
  kept.clear_deadline();
  // Cancelled meanwhile, or something arrived after the response: not a clean finish.
  const bool clean = kept.waiters().interrupted() == IoStatus::ok && !connection_.is_disturbed();
  if (clean && !pools_->closing_ && retirements_ == pool_->retirements_) {
    const auto limit = std::min(idle_limit, pools_->idle_limit_);
    pool_->give(std::move(connection_), pools_->reactor_.now() + limit.count());
  }
  drop();
}

void UpstreamLease::drop() noexcept {
  connection_.reset();
  if (pool_ != nullptr) --std::exchange(pool_, nullptr)->leased_;
}

// --- UpstreamPools ---

UpstreamPools::UpstreamPools(Reactor& reactor, Resolver& resolver, Connector& connector,
                             std::chrono::milliseconds idle_limit)
    : reactor_(reactor), resolver_(resolver), connector_(connector), idle_limit_(idle_limit) {}

UpstreamPools::~UpstreamPools() = default;

UpstreamLease UpstreamPools::lease_of(const Known& known, UpstreamConnection connection) {
  UpstreamLease lease;
  lease.pools_ = this;
  lease.pool_ = known.pool;
  lease.connection_ = std::move(connection);
  lease.upstream_ = known.upstream;
  lease.retirements_ = known.pool->retirements_;
  ++known.pool->leased_;
  return lease;
}

UpstreamLease UpstreamPools::take_idle(const Known& known) {
  UpstreamConnection connection = known.pool->take(reactor_.now());
  if (!connection) return {};
  UpstreamLease lease = lease_of(known, std::move(connection));
  lease.reused_ = true;
  return lease;
}

UpstreamLease UpstreamPools::try_lease(const router::Route& route) {
  // HTTP/2 connections are not kept here.
  if (route.protocol == router::Protocol::h2c) return {};
  const auto found = known_.find(UpstreamKeyView{route.upstream, route.protocol, server_name_of(route)});
  if (found == known_.end() || reactor_.now() >= found->second.fresh_until) return {};
  return take_idle(found->second);
}

Task<LeaseResult> UpstreamPools::lease(const router::Route& route, LeaseKind kind) {
  if (route.protocol == router::Protocol::https && tls_ == nullptr) {
    co_return ProxyError{ProxyReason::upstream_unsupported, "this edge speaks no TLS to upstreams",
                         "add the route with the protocol http1 or h2c"};
  }
  constexpr int kMostAttempts = 3;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    std::optional<LeaseResult> result = co_await lease_once(route, kind);
    if (result) co_return std::move(*result);
  }
  co_return ProxyError{
      ProxyReason::container_stopped,
      "the upstream " + router::to_string(route.upstream) + " ended while it was connected to", ""};
}

Task<UpstreamAnswer> UpstreamPools::resolve(const router::Route& route, LeaseTimings& timings) {
  const UpstreamKeyView key{route.upstream, route.protocol, server_name_of(route)};
  const auto found = known_.find(key);
  if (found != known_.end() && reactor_.now() < found->second.fresh_until) co_return found->second.upstream;
  const auto start = Now::now();
  Resolution resolution = co_await resolver_.resolve(route.upstream);
  timings.resolve = since(start);
  if (auto* upstream = std::get_if<ResolvedUpstreamPtr>(&resolution.answer))
    co_return remember(route, std::move(*upstream), resolution.fresh_until).upstream;
  const auto last = known_.find(key);
  // Nobody said that the upstream is gone; what stands is better knowledge than that.
  if (last != known_.end() && resolution.is_silence) co_return last->second.upstream;
  co_return std::move(resolution.answer);
}

UpstreamPools::Known& UpstreamPools::remember(const router::Route& route, ResolvedUpstreamPtr upstream,
                                              Millis fresh_until) {
  const std::string server_name(server_name_of(route));
  Known& known = known_[UpstreamKey{route.upstream, route.protocol, server_name}];
  known.pool = &pool_of(PoolKey{upstream->identity, route.protocol, server_name});
  known.upstream = std::move(upstream);
  known.fresh_until = fresh_until;
  return known;
}

Task<std::optional<LeaseResult>> UpstreamPools::lease_once(const router::Route& route, LeaseKind kind) {
  LeaseTimings timings;
  const auto start = Now::now();
  Resolution resolution = co_await resolver_.resolve(route.upstream);
  timings.resolve = since(start);
  if (auto* error = std::get_if<ProxyError>(&resolution.answer)) {
    const auto last = known_.find(UpstreamKeyView{route.upstream, route.protocol, server_name_of(route)});
    // Nobody said that the upstream is gone; a connection that stands is better knowledge than that.
    if (kind == LeaseKind::any && last != known_.end() && resolution.is_silence) {
      UpstreamLease lease = take_idle(last->second);
      if (lease) co_return LeaseResult(std::move(lease));
    }
    co_return LeaseResult(std::move(*error));
  }
  const Known& known =
      remember(route, std::get<ResolvedUpstreamPtr>(std::move(resolution.answer)), resolution.fresh_until);
  if (kind == LeaseKind::any) {
    UpstreamLease lease = take_idle(known);
    if (lease) {
      lease.timings_ = timings;
      co_return LeaseResult(std::move(lease));
    }
  }
  UpstreamKey key{route.upstream, route.protocol, std::string(server_name_of(route))};
  co_return co_await connect(std::move(key), known, timings);
}

// By value: the map that holds what is known may change while this waits. The lease comes first, because it
// keeps the pool.
Task<std::optional<LeaseResult>> UpstreamPools::connect(UpstreamKey key, Known known, LeaseTimings timings) {
  UpstreamLease lease = lease_of(known, {});
  const auto start = Now::now();
  ConnectResult connected = co_await connector_.connect(*known.upstream);
  std::optional<ProxyError> wrong;
  if (auto* error = std::get_if<ProxyError>(&connected)) {
    wrong = std::move(*error);
  } else {
    lease.connection_.socket = std::get<std::unique_ptr<SocketStream>>(std::move(connected));
    if (key.protocol == router::Protocol::https)
      wrong = co_await tls_->secure(lease.connection_, std::move(key.server_name));
  }
  timings.connect = since(start);
  // An address that was freed meanwhile may have been given to another worktree's container, which then took
  // this connection: whatever came of it is not the upstream's.
  if (lease.retirements_ != known.pool->retirements_) {
    forget(key);
    co_return std::nullopt;
  }
  if (wrong) {
    // The address may have been wrong; the next request asks for it anew.
    forget(key);
    co_return LeaseResult(std::move(*wrong));
  }
  lease.timings_ = timings;
  co_return LeaseResult(std::move(lease));
}

// Both memories: until it is asked for anew, nobody is sent to connections of whoever has the address now.
void UpstreamPools::forget(const UpstreamKey& key) {
  resolver_.forget(key.upstream);
  const auto found = known_.find(key);
  if (found != known_.end()) found->second.fresh_until = 0;
}

UpstreamPool& UpstreamPools::pool_of(const PoolKey& key) {
  std::unique_ptr<UpstreamPool>& pool = pools_[key];
  if (pool == nullptr) pool = std::make_unique<UpstreamPool>(key.identity);
  return *pool;
}

void UpstreamPools::retire(std::string_view identity) {
  // In whatever protocol.
  for (auto& [key, pool] : pools_) {
    if (key.identity != identity) continue;
    ++pool->retirements_;
    pool->idle_.clear();
  }
  for (auto& [key, known] : known_) {
    if (known.pool->identity() != identity) continue;
    known.fresh_until = 0;
    resolver_.forget(key.upstream);
  }
}

void UpstreamPools::forget_docker_answers() {
  resolver_.forget_docker_answers();
  for (auto& [key, known] : known_) {
    if (std::holds_alternative<router::DockerUpstream>(key.upstream)) known.fresh_until = 0;
  }
}

void UpstreamPools::sweep() {
  const Millis now = reactor_.now();
  for (auto& [key, pool] : pools_) {
    std::erase_if(pool->idle_, [now](const UpstreamPool::Idle& idle) {
      return idle.until <= now || idle.connection.is_disturbed();
    });
  }
  forget_unused();
}

void UpstreamPools::forget_unused() {
  const auto unused = [](const UpstreamPool& pool) { return pool.leased_ == 0 && pool.idle_.empty(); };
  std::erase_if(known_, [&unused](const auto& item) { return unused(*item.second.pool); });
  // What is left in known_ leads to pools in use.
  std::erase_if(pools_, [&unused](const auto& item) { return unused(*item.second); });
}

void UpstreamPools::close_idle() {
  closing_ = true;
  for (auto& [key, pool] : pools_) pool->idle_.clear();
}

std::size_t UpstreamPools::idle() const noexcept {
  std::size_t count = 0;
  for (const auto& [key, pool] : pools_) count += pool->idle();
  return count;
}

}  // namespace hedge::proxy
