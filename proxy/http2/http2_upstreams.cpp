#include "proxy/http2/http2_upstreams.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace hedge::proxy::http {
namespace {

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
  UpstreamAnswer answer = co_await pools_.resolve(route, timings);
  if (ProxyError* error = std::get_if<ProxyError>(&answer)) co_return std::move(*error);
  std::unique_ptr<Pool>& entry = by_identity_[std::get<ResolvedUpstreamPtr>(answer)->identity];
  if (entry == nullptr) entry = std::make_unique<Pool>(reactor_);
  Pool& pool = *entry;
  const PoolUse use(pool.users);
  if (kind == LeaseKind::any) {
    if (Http2ClientConnection* free = find_free(pool)) co_return call_on(*free, state, timings);
  }
  constexpr int kMostAttempts = 3;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    std::optional<ProxyError> error = co_await connect(pool, route, timings);
    if (error) co_return std::move(*error);
    // Others may have filled it meanwhile.
    if (Http2ClientConnection* free = find_free(pool)) co_return call_on(*free, state, timings);
  }
  co_return ProxyError{
      ProxyReason::upstream_closed, "the upstream ends its connections as soon as they stand", {}};
}

// The newest first: what an upstream is about to close is older.
Http2ClientConnection* Http2Upstreams::find_free(Pool& pool) {
  const auto found = std::find_if(pool.connections.rbegin(), pool.connections.rend(),
                                  [](const auto& connection) { return connection->takes_calls(); });
  return found == pool.connections.rend() ? nullptr : found->get();
}

Task<std::optional<ProxyError>> Http2Upstreams::connect(Pool& pool, const router::Route& route,
                                                        LeaseTimings& timings) {
  if (pool.is_connecting) {
    const bool connected = co_await pool.connected.wait(limits_.resolve + limits_.connect);
    if (!connected)
      co_return ProxyError{ProxyReason::upstream_timeout, "the upstream is still connected to", {}};
    co_return pool.error;
  }
  pool.is_connecting = true;
  pool.error.reset();
  LeaseResult leased = co_await pools_.lease(route, LeaseKind::fresh);
  pool.is_connecting = false;
  if (ProxyError* error = std::get_if<ProxyError>(&leased)) {
    pool.error = std::move(*error);
  } else {
    UpstreamLease& lease = std::get<UpstreamLease>(leased);
    timings.connect = lease.timings().connect;
    pool.connections.push_back(
        std::make_unique<Http2ClientConnection>(std::move(lease), reactor_, buffers_, limits_.upstream_idle));
    pool.connections.back()->start();
  }
  const std::optional<ProxyError> result = pool.error;
  pool.connected.notify_all();
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
