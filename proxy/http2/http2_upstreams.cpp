#include "proxy/http2/http2_upstreams.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace hedge::proxy::http {
namespace {

// How long others wait for a new connection's settings, which every HTTP/2 server sends first of all.
constexpr std::chrono::milliseconds kSettingsLimit{1000};

// A coroutine that refers to a pool across a wait.
class PoolUse {
 public:
  explicit PoolUse(int& users) : users_(users) { ++users_; }
  ~PoolUse() { --users_; }
  PoolUse(const PoolUse&) = delete;
  PoolUse& operator=(const PoolUse&) = delete;

 private:
  int& users_;
};

}  // namespace

Http2Upstreams::Http2Upstreams(UpstreamPools& pools, Reactor& reactor, BufferPool& buffers,
                               const EdgeLimits& limits)
    : pools_(pools), reactor_(reactor), buffers_(buffers), limits_(limits) {}

Http2Upstreams::~Http2Upstreams() = default;

Task<Http2OpenResult> Http2Upstreams::open(const router::Route& route, LeaseKind kind, RequestState& state) {
  LeaseTimings timings;
  const UpstreamKeyView key{route.upstream, route.protocol};
  const Millis until = reactor_.now() + 2 * (limits_.resolve + limits_.connect).count();
  bool has_waited = false;
  bool waits_for_settings = true;
  for (;;) {
    // Each time anew: where the route led to before a wait may be somebody else's by now.
    UpstreamAnswer answer = co_await pools_.resolve(route, timings);
    if (ProxyError* error = std::get_if<ProxyError>(&answer)) co_return std::move(*error);
    Pool& pool = pool_of(std::get<ResolvedUpstreamPtr>(answer)->identity);
    const PoolUse use(pool.users);
    if (kind == LeaseKind::any || has_waited) {
      if (Http2ClientConnection* free = find_free(pool)) co_return call_on(*free, state, timings);
    }
    const bool connects = pool.is_connecting;
    if (!connects && !(waits_for_settings && is_settling(pool)))
      co_return co_await open_new(pool, route, state, timings);
    const std::chrono::milliseconds left(std::max<Millis>(0, until - reactor_.now()));
    const bool told = co_await pool.changed.wait(connects ? left : std::min(left, kSettingsLimit));
    has_waited = true;
    const bool failed = told && pool.error && UpstreamKeyEqual()(pool.connecting_to, key);
    if (failed) co_return *pool.error;
    if (!told && connects)
      co_return ProxyError{ProxyReason::upstream_timeout, "the upstream is still connected to", {}};
    // It stands and says nothing: for this call there will be one of its own, as with HTTP/1.
    if (!told) waits_for_settings = false;
  }
}

// The newest first: what an upstream is about to close is older.
Http2ClientConnection* Http2Upstreams::find_free(Pool& pool) {
  const auto found = std::find_if(pool.connections.rbegin(), pool.connections.rend(),
                                  [](const auto& connection) { return connection->takes_calls(); });
  return found == pool.connections.rend() ? nullptr : found->get();
}

bool Http2Upstreams::is_settling(const Pool& pool) {
  return std::any_of(pool.connections.begin(), pool.connections.end(), [](const auto& connection) {
    return connection->is_settling() && !connection->is_retired();
  });
}

Http2Upstreams::Pool& Http2Upstreams::pool_of(const std::string& identity) {
  std::unique_ptr<Pool>& entry = by_identity_[identity];
  if (entry == nullptr) entry = std::make_unique<Pool>(reactor_);
  return *entry;
}

Task<Http2OpenResult> Http2Upstreams::open_new(Pool& pool, const router::Route& route, RequestState& state,
                                               LeaseTimings timings) {
  pool.is_connecting = true;
  pool.error.reset();
  pool.connecting_to = UpstreamKey{route.upstream, route.protocol};
  LeaseResult leased = co_await pools_.lease(route, LeaseKind::fresh);
  pool.is_connecting = false;
  Http2OpenResult result;
  if (ProxyError* error = std::get_if<ProxyError>(&leased)) {
    pool.error = *error;
    result = std::move(*error);
  } else {
    UpstreamLease& lease = std::get<UpstreamLease>(leased);
    timings.connect = lease.timings().connect;
    // The lease has asked for the address by itself: it may be another than the pool's.
    Pool& home = pool_of(lease.identity());
    home.connections.push_back(
        std::make_unique<Http2ClientConnection>(std::move(lease), reactor_, buffers_, limits_, home.changed));
    home.connections.back()->start();
    result = call_on(*home.connections.back(), state, timings);
  }
  pool.changed.notify_all();
  co_return result;
}

std::unique_ptr<Http2Call> Http2Upstreams::call_on(Http2ClientConnection& connection, RequestState& state,
                                                   LeaseTimings timings) {
  return std::make_unique<Http2Call>(connection, state, timings);
}

void Http2Upstreams::sweep() {
  for (auto& [identity, pool] : by_identity_) {
    for (const auto& connection : pool->connections) {
      if (connection->is_retired() && connection->connection().open_streams() == 0) connection->close();
    }
    std::erase_if(pool->connections, [](const auto& connection) { return connection->is_over(); });
  }
  std::erase_if(by_identity_, [](const auto& item) {
    const Pool& pool = *item.second;
    return pool.connections.empty() && pool.users == 0;
  });
}

Task<void> Http2Upstreams::close() {
  for (auto& [identity, pool] : by_identity_) {
    for (const auto& connection : pool->connections) connection->close();
    for (const auto& connection : pool->connections) co_await connection->join();
  }
  by_identity_.clear();
}

}  // namespace hedge::proxy::http
