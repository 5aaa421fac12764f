// The worker's connections to HTTP/2 upstreams, and the one way to make a call: open().
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/task.h"
#include "proxy/edge_settings.h"
#include "proxy/http2/http2_call.h"
#include "proxy/http2/http2_client_connection.h"
#include "proxy/stream/signal.h"
#include "proxy/upstream/upstream_key.h"
#include "proxy/upstream/upstream_pools.h"

namespace hedge::proxy::http {

// Single-threaded; one a worker. Outlives its calls.
class Http2Upstreams {
 public:
  // Lifetime: all outlive it.
  Http2Upstreams(UpstreamPools& pools, Reactor& reactor, BufferPool& buffers, const EdgeLimits& limits);
  ~Http2Upstreams();
  Http2Upstreams(const Http2Upstreams&) = delete;
  Http2Upstreams& operator=(const Http2Upstreams&) = delete;

  // A call on a connection that stands, or (always with LeaseKind::fresh) on a new one. Those who need the
  // same new connection share it.
  // Errors: those of UpstreamPools::lease().
  // Lifetime: `route` lives until the await is over, `state` as long as the call.
  Task<Http2OpenResult> open(const router::Route& route, LeaseKind kind, RequestState& state);

  // Drops connections that are over, and ends those that lead to what has gone away; called once a sweep.
  void sweep();
  // Ends every connection. Requires: no call is open.
  Task<void> close();

 private:
  // Of one identity.
  struct Pool {
    explicit Pool(Reactor& reactor) : changed(reactor) {}
    Signal changed;  // a connection stands, has settled or has failed
    std::vector<std::unique_ptr<Http2ClientConnection>> connections;
    int users = 0;  // coroutines that refer to the pool
    bool is_connecting = false;
    UpstreamKey connecting_to;        // in the last attempt; routes may lead to one identity in several ways
    std::optional<ProxyError> error;  // of that attempt
  };

  static Http2ClientConnection* find_free(Pool& pool);
  static bool is_settling(const Pool& pool);
  Pool& pool_of(const std::string& identity);
  // A call on a new connection, which others may share afterwards.
  Task<Http2OpenResult> open_new(Pool& pool, const router::Route& route, RequestState& state,
                                 LeaseTimings timings);
  std::unique_ptr<Http2Call> call_on(Http2ClientConnection& connection, RequestState& state,
                                     LeaseTimings timings);

  UpstreamPools& pools_;
  Reactor& reactor_;
  BufferPool& buffers_;
  const EdgeLimits& limits_;
  std::map<std::string, std::unique_ptr<Pool>> by_identity_;
};

}  // namespace hedge::proxy::http
