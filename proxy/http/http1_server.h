// The keep-alive loop of one HTTP/1 client connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/task.h"
#include "proxy/downstream_connection.h"
#include "proxy/edge_worker.h"
#include "proxy/forwarded_headers.h"
#include "proxy/http/head_scanner.h"
#include "proxy/http/http1_exchange.h"
#include "proxy/http/input_buffer.h"
#include "proxy/http/request_state.h"

namespace hedge::proxy::http {

// What all connections of one worker share.
struct WorkerHttp {
  RequestStates states;
  AccessLineFormatter lines;
};

struct Http1ServerParts {
  WorkerHttp& http;
  const TrustedProxies& trusted;
  AccessLog* access_log = nullptr;  // null: none
};

// Until the client or the edge ends the connection. The caller closes the stream.
// Its frame is what an idle connection costs, so everything that a request needs is in Http1Server.
Task<void> serve_http1(EdgeWorker& worker, DownstreamConnection& connection, Http1ServerParts parts);

// Lives from the first byte of a request until nothing is left to read.
class Http1Server {
 public:
  Http1Server(EdgeWorker& worker, DownstreamConnection& connection, const Http1ServerParts& parts);

  // Requires: something can be read. True: the connection goes on, and is idle.
  Task<bool> serve_burst();

 private:
  enum class HeadState : std::uint8_t { complete, malformed, closed };

  // One request. True: the connection goes on.
  Task<bool> serve_one();
  Task<HeadState> read_head(RequestState& state, ProxyError& error);
  HeadState parse_head(RequestState& state, ProxyError& error);
  Task<void> answer(Http1Exchange& exchange, RequestState& state);
  Task<void> answer_malformed(Http1Exchange& exchange, RequestState& state, ProxyError error);
  Task<void> linger(Http1Exchange& exchange);
  void log(RequestState& state, std::chrono::steady_clock::time_point start);

  EdgeWorker& worker_;
  DownstreamConnection& connection_;
  const Http1ServerParts& parts_;
  InputBuffer input_;
  HeadScanner scanner_{MessageKind::request};
};

}  // namespace hedge::proxy::http
