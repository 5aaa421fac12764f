// The keep-alive loop of one HTTP/1 client connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/task.h"
#include "proxy/downstream_connection.h"
#include "proxy/edge_worker.h"
#include "proxy/forwarded_headers.h"
#include "proxy/http/head_scanner.h"
#include "proxy/http/http1_exchange.h"
#include "proxy/http/input_buffer.h"
#include "proxy/http/request_answer.h"
#include "proxy/http/request_state.h"

namespace hedge::proxy::http {

// Until the client or the edge ends the connection; HTTP/2 by prior knowledge is recognised. The caller closes
// the stream.
// Its frame is what an idle connection costs, so everything that a request needs is in Http1Server.
Task<void> serve_http1(EdgeWorker& worker, DownstreamConnection& connection, ServerParts parts);

// Lives from the first byte of a request until nothing is left to read.
class Http1Server {
 public:
  Http1Server(EdgeWorker& worker, DownstreamConnection& connection, const ServerParts& parts);

  // The first request of a connection may turn out to be none.
  void look_for_preface() noexcept { looks_for_preface_ = true; }
  // Requires: something can be read. True: the connection goes on, and is idle.
  Task<bool> serve_burst();
  // After serve_burst(): the client has opened with the preface of HTTP/2 (RFC 9113, section 3.3), and has
  // sent this so far.
  bool wants_http2() const noexcept { return wants_http2_; }
  std::string_view received() const noexcept { return input_.text(); }

 private:
  enum class HeadState : std::uint8_t { complete, malformed, closed, http2 };

  // One request. True: the connection goes on.
  Task<bool> serve_one();
  Task<HeadState> read_head(RequestState& state, ProxyError& error);
  HeadState parse_head(RequestState& state, ProxyError& error);
  Task<void> linger(Http1Exchange& exchange);

  EdgeWorker& worker_;
  DownstreamConnection& connection_;
  const ServerParts& parts_;
  InputBuffer input_;
  HeadScanner scanner_{MessageKind::request};
  bool looks_for_preface_ = false;
  bool wants_http2_ = false;
};

}  // namespace hedge::proxy::http
