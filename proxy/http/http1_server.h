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

class Http1Server {
 public:
  Http1Server(EdgeWorker& worker, DownstreamConnection& connection, const ServerParts& parts);

  // Until the client or the edge ends the connection. The caller closes the stream.
  Task<void> run();
  // After run(): the client speaks HTTP/2 (RFC 9113, section 3.3) and has sent this so far.
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
  bool first_request_ = true;
  bool wants_http2_ = false;
};

}  // namespace hedge::proxy::http
