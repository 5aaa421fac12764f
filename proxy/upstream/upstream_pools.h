// The worker's idle upstream connections, and the one way to get a connection: lease().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/task.h"
#include "proxy/proxy_error.h"
#include "proxy/stream/socket_stream.h"
#include "proxy/upstream/upstream_key.h"
#include "proxy/upstream/upstream_source.h"
#include "proxy/upstream/upstream_tls.h"
#include "router/route.h"

namespace hedge::proxy {

class Connector;
class Reactor;
class Resolver;
class UpstreamPools;

inline constexpr std::size_t kMostIdlePerIdentity = 64;

struct LeaseTimings {
  std::chrono::microseconds resolve{0};
  std::chrono::microseconds connect{0};
};

// Idle connections to one identity in one protocol, the newest last.
class UpstreamPool {
 public:
  explicit UpstreamPool(std::string identity) : identity_(std::move(identity)) {}

  const std::string& identity() const noexcept { return identity_; }
  std::size_t idle() const noexcept { return idle_.size(); }

 private:
  friend class UpstreamLease;
  friend class UpstreamPools;
  struct Idle {
    UpstreamConnection connection;
    Millis until = 0;
  };
  UpstreamConnection take(Millis now);
  void give(UpstreamConnection connection, Millis until);

  std::string identity_;
  std::vector<Idle> idle_;
  std::size_t leased_ = 0;
  // How often the identity went away. A lease of an earlier life, also one whose connect was under way, may
  // lead to whoever has the address by now.
  std::uint32_t retirements_ = 0;
};

// One connection for one exchange. keep() after a clean finish puts it back; every other way out closes it.
class UpstreamLease {
 public:
  UpstreamLease() = default;
  UpstreamLease(UpstreamLease&& other) noexcept;
  UpstreamLease& operator=(UpstreamLease&& other) noexcept;
  UpstreamLease(const UpstreamLease&) = delete;
  UpstreamLease& operator=(const UpstreamLease&) = delete;
  ~UpstreamLease();

  explicit operator bool() const noexcept { return static_cast<bool>(connection_); }
  ByteStream& stream() const noexcept;
  // It has carried an exchange before: a failure before the first response byte may be its age.
  bool reused() const noexcept { return reused_; }
  // Its identity has gone away since: no further exchange may begin on it.
  bool is_retired() const noexcept { return pool_ == nullptr || retirements_ != pool_->retirements_; }
  const LeaseTimings& timings() const noexcept { return timings_; }
  const std::string& identity() const noexcept { return upstream_->identity; }
  const ResolvedUpstream& upstream() const noexcept { return *upstream_; }

  // Gives the connection back. Call it only when the whole response was read, the whole request was written,
  // and both sides agreed to go on. `idle_limit` is what the upstream's `Keep-Alive: timeout` allows; the
  // edge's own limit holds besides. The lease is empty afterwards.
  void keep(std::chrono::milliseconds idle_limit = std::chrono::milliseconds::max());
  // Closes the connection. The lease is empty afterwards.
  void drop() noexcept;

 private:
  friend class UpstreamPools;
  UpstreamPools* pools_ = nullptr;
  UpstreamPool* pool_ = nullptr;
  UpstreamConnection connection_;
  ResolvedUpstreamPtr upstream_;
  LeaseTimings timings_;
  std::uint32_t retirements_ = 0;  // the pool's when this was made, before the connect
  bool reused_ = false;
};

enum class LeaseKind : std::uint8_t {
  any,    // an idle connection if there is one
  fresh,  // always a new connection: for a retry, and for an upgrade
};

using LeaseResult = std::variant<UpstreamLease, ProxyError>;

// Single-threaded; one a worker. Outlives its leases.
class UpstreamPools {
 public:
  UpstreamPools(Reactor& reactor, Resolver& resolver, Connector& connector,
                std::chrono::milliseconds idle_limit);
  ~UpstreamPools();
  UpstreamPools(const UpstreamPools&) = delete;
  UpstreamPools& operator=(const UpstreamPools&) = delete;

  // For routes with the protocol https; without it they are upstream_unsupported. Lifetime: it outlives this.
  void use_tls(UpstreamTls& tls) noexcept { tls_ = &tls; }

  // The hot path: an idle connection, without a coroutine frame. An empty lease if there is none, or if the
  // upstream's address must be asked for again; then await lease().
  UpstreamLease try_lease(const router::Route& route);

  // An idle or new connection to the route's upstream. Bounded by the resolver's and connector's deadlines.
  // Errors: every reason of the table's "before there was a connection" part.
  // Lifetime: `route` (that is, its table) lives until the await is over.
  Task<LeaseResult> lease(const router::Route& route, LeaseKind kind);

  // Where the route's upstream is now; for connections that carry more than one exchange at a time. Adds to
  // `timings.resolve`. Bounded, errors and lifetime as lease().
  Task<UpstreamAnswer> resolve(const router::Route& route, LeaseTimings& timings);

  // The identity's process is gone: its idle connections are closed, and those that are leased will not be
  // kept.
  void retire(std::string_view identity);
  // Answers about docker: upstreams are stale; asks anew at the next lease.
  void forget_docker_answers();
  // Closes connections that were idle too long or that the peer closed; called once a sweep.
  void sweep();
  // Closes every idle connection and keeps none from now on (drain).
  void close_idle();

  std::size_t idle() const noexcept;

 private:
  friend class UpstreamLease;
  // The last good answer for an upstream and the pool that it leads to.
  struct Known {
    ResolvedUpstreamPtr upstream;
    UpstreamPool* pool = nullptr;
    Millis fresh_until = 0;
  };

  UpstreamPool& pool_of(const PoolKey& key);
  Known& remember(const router::Route& route, ResolvedUpstreamPtr upstream, Millis fresh_until);
  void forget(const UpstreamKey& key);
  UpstreamLease take_idle(const Known& known);
  UpstreamLease lease_of(const Known& known, UpstreamConnection connection);
  // Absent: the identity went away while it was connected to, and whoever has its address now may have
  // answered.
  Task<std::optional<LeaseResult>> lease_once(const router::Route& route, LeaseKind kind);
  Task<std::optional<LeaseResult>> connect(UpstreamKey key, Known known, LeaseTimings timings);
  void forget_unused();

  Reactor& reactor_;
  Resolver& resolver_;
  Connector& connector_;
  std::chrono::milliseconds idle_limit_;
  UpstreamTls* tls_ = nullptr;
  bool closing_ = false;
  std::unordered_map<UpstreamKey, Known, UpstreamKeyHash, UpstreamKeyEqual> known_;
  std::map<PoolKey, std::unique_ptr<UpstreamPool>, PoolKeyLess> pools_;
};

}  // namespace hedge::proxy
