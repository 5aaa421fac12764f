// One request's way through the edge: route, connection, request there, response back. Written once for every
// protocol.
#pragma once

#include <string_view>

#include "base/task.h"
#include "proxy/edge_worker.h"
#include "proxy/forwarded_headers.h"
#include "proxy/http/exchange.h"
#include "proxy/http/request_state.h"

namespace hedge::proxy {

struct ForwardContext {
  EdgeWorker& worker;
  http::RequestState& state;
  const TrustedProxies& trusted;
};

// Answers the exchange in every case: with the upstream's response, an error page, or by aborting what was
// begun. Fills `state.record` but for the times of start and end. Lifetime: everything referred to outlives
// the await.
Task<void> forward(http::Exchange& exchange, const ForwardContext& context);

}  // namespace hedge::proxy
