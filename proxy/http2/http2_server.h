// One HTTP/2 client connection: a task for each request, all of them at once.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "base/task_group.h"
#include "proxy/downstream_connection.h"
#include "proxy/edge_worker.h"
#include "proxy/http/request_answer.h"
#include "proxy/http2/http2_connection.h"
#include "proxy/http2/http2_exchange.h"
#include "proxy/stream/reactor.h"

namespace hedge::proxy::http {

class Http2Server final : private Http2ConnectionEvents, private DrainWatcher {
 public:
  Http2Server(EdgeWorker& worker, DownstreamConnection& connection, const ServerParts& parts);
  ~Http2Server() override;

  // Until the client or the edge ends the connection. `early`: what was received before. The caller closes
  // the stream.
  Task<void> run(std::string_view early);

 private:
  // What the transport's deadline stands for at the moment.
  enum class Due : std::uint8_t { unknown, nothing, next_request, rest_of_head };
  // How long the client may take to acknowledge that it opens no more streams.
  static constexpr std::chrono::milliseconds kShutdownLimit{1000};

  Http2StreamEvents* stream_began(std::int32_t id) override;
  void received() override;
  void shutdown_acknowledged() override { shutdown_acknowledged_ = true; }
  void goaway_received() override {}
  void about_to_wait() override;
  void drain_began() override;

  Task<void> serve(std::unique_ptr<Http2Exchange> exchange);
  static void shutdown_is_late(void* self);
  void finish_shutdown();

  EdgeWorker& worker_;
  DownstreamConnection& downstream_;
  const ServerParts& parts_;
  Http2Connection connection_;
  std::vector<std::unique_ptr<Http2Exchange>> arriving_;  // their heads are not complete
  TaskGroup requests_;
  Timer shutdown_timer_;
  Due due_ = Due::unknown;
  bool shutdown_acknowledged_ = false;
  bool shutdown_finished_ = false;
};

// Until the client or the edge ends the connection. `received`: what was read before. The caller closes the
// stream. Lifetime: `received` outlives the call.
Task<void> serve_http2(EdgeWorker& worker, DownstreamConnection& connection, ServerParts parts,
                       std::string_view received);

}  // namespace hedge::proxy::http
