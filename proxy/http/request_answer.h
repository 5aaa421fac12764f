// What becomes of a request once its head is there, whatever protocol it came by.
#pragma once

#include <chrono>

#include "base/task.h"
#include "proxy/access_log.h"
#include "proxy/edge_worker.h"
#include "proxy/forwarded_headers.h"
#include "proxy/http/exchange.h"
#include "proxy/http/request_state.h"

namespace hedge::proxy::http {

// What all connections of one worker share.
struct WorkerHttp {
  RequestStates states;
  AccessLineFormatter lines;
};

struct ServerParts {
  WorkerHttp& http;
  const TrustedProxies& trusted;
  AccessLog* access_log = nullptr;  // null: none
};

struct AnswerContext {
  EdgeWorker& worker;
  const ServerParts& parts;
  std::chrono::steady_clock::time_point start;  // when the request began to arrive
  // Plain bytes on a TLS port: anything but an upgrade is sent to https.
  bool wants_https = false;
};

// Forwards it, or sends it to https.
Task<void> answer_request(Exchange& exchange, RequestState& state, const AnswerContext& context);
// Says what is wrong with its head.
Task<void> answer_malformed(Exchange& exchange, RequestState& state, ProxyError error,
                            const AnswerContext& context);
// After the answer.
void log_request(RequestState& state, const ServerParts& parts, std::chrono::steady_clock::time_point start);

}  // namespace hedge::proxy::http
