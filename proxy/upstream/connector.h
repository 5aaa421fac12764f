// Opens a connection to an upstream: all of its addresses within one limit, the next one beside the first
// after a moment.
#pragma once

#include <memory>
#include <variant>

#include "base/task.h"
#include "proxy/edge_settings.h"
#include "proxy/proxy_error.h"
#include "proxy/stream/reactor.h"
#include "proxy/stream/socket_stream.h"
#include "proxy/upstream/upstream_source.h"
#include "proxy/worker_stats.h"

namespace hedge::proxy {

using ConnectResult = std::variant<std::unique_ptr<SocketStream>, ProxyError>;

class Connector {
 public:
  Connector(Reactor& reactor, const EdgeSettings& settings, WorkerStats& stats)
      : reactor_(reactor), settings_(settings), stats_(stats) {}

  // Errors: upstream_refused, upstream_unreachable, upstream_timeout, overloaded (no descriptors).
  // Lifetime: `upstream` lives until the await is over.
  Task<ConnectResult> connect(const ResolvedUpstream& upstream);

 private:
  struct Race;
  Task<ConnectResult> connect_one(const ResolvedUpstream& upstream);
  Task<void> attempt(Race& race, const Endpoint& endpoint);

  Reactor& reactor_;
  const EdgeSettings& settings_;
  WorkerStats& stats_;
};

// What a failed connect() means for the person who reads the page.
ProxyError connect_error(int number, const ResolvedUpstream& upstream);

}  // namespace hedge::proxy
