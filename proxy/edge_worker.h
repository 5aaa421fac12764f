// One thread of the edge: a reactor and everything that only this thread touches.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/task_group.h"
#include "base/unique_fd.h"
#include "proxy/connection_service.h"
#include "proxy/downstream_connection.h"
#include "proxy/edge_settings.h"
#include "proxy/handshake_log.h"
#include "proxy/stream/buffers.h"
#include "proxy/stream/pipe_pool.h"
#include "proxy/stream/reactor.h"
#include "proxy/stream/tls_context.h"
#include "proxy/upstream/upstream_pools.h"
#include "proxy/worker_stats.h"
#include "router/route_table.h"

namespace hedge::proxy {

namespace http {
class Http2Upstreams;
}
class Connector;
class Listener;
class Resolver;
class UpstreamSource;

struct ListeningSocket {
  UniqueFd fd;
  ListenerKind kind = ListenerKind::plain;
};

// What all workers share; immutable or thread-safe, and outlives them.
struct WorkerShared {
  const EdgeSettings* settings = nullptr;
  TlsContext* tls = nullptr;         // null: no certificates, TLS connections are closed
  UpstreamSource* docker = nullptr;  // null: docker: upstreams are engine_not_installed
  ConnectionService* service = nullptr;
};

class EdgeWorker {
 public:
  // Errors are those of the reactor's descriptors: no_space.
  static Result<std::unique_ptr<EdgeWorker>> create(WorkerShared shared,
                                                    std::vector<ListeningSocket> listeners);
  // Requires: the thread has been joined.
  ~EdgeWorker();

  // From any thread.

  void start();
  void publish(std::shared_ptr<const router::RouteTable> table);
  void identity_gone(std::string identity);
  void docker_answers_changed();
  // Stops accepting, closes idle connections, lets exchanges finish within the drain limit, cancels the rest
  // and ends the thread. A client that was in the queue, or had sent its request, gets one answer.
  void drain();
  // False: the thread has not ended by then.
  bool wait_until_ended(SteadyTime limit) const;
  void join();
  const WorkerStats& stats() const noexcept { return stats_; }

  // On the worker's own thread: what a connection's coroutines use.

  Reactor& reactor() noexcept { return *reactor_; }
  BufferPool& buffers() noexcept { return buffers_; }
  PipePool& pipes() noexcept { return pipes_; }
  UpstreamPools& upstreams() noexcept { return *upstreams_; }
  http::Http2Upstreams& http2_upstreams() noexcept { return *http2_upstreams_; }
  WorkerStats& mutable_stats() noexcept { return stats_; }
  const EdgeSettings& settings() const noexcept { return *shared_.settings; }
  // Copy it once for each exchange: the routes in it live as long as the copy. Never null.
  const std::shared_ptr<const router::RouteTable>& routes() const noexcept { return routes_; }
  // Answer, then close: say `Connection: close`.
  bool draining() const noexcept { return draining_; }

 private:
  friend class DownstreamConnection;
  friend class Listener;
  EdgeWorker(WorkerShared shared, std::unique_ptr<Reactor> reactor);

  Result<void> listen(std::vector<ListeningSocket> sockets);
  void run();
  void sweep();
  void begin_drain();
  Task<void> finish_drain();
  // For listeners and connections.
  void take(UniqueFd client, ListenerKind listener);
  Task<void> serve(std::unique_ptr<SocketStream> client, ListenerKind listener);
  void enter(DownstreamConnection& connection);
  void leave(DownstreamConnection& connection) noexcept;
  TlsContext* tls() const noexcept { return shared_.tls; }
  const HandshakeRoutes& handshake_routes() const noexcept { return handshake_routes_; }
  HandshakeLog& handshake_log() noexcept { return handshake_log_; }

  WorkerShared shared_;
  WorkerStats stats_;
  std::unique_ptr<Reactor> reactor_;
  BufferPool buffers_;
  PipePool pipes_;
  std::shared_ptr<const router::RouteTable> routes_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<Connector> connector_;
  UpstreamTls upstream_tls_;
  std::unique_ptr<UpstreamPools> upstreams_;
  std::unique_ptr<http::Http2Upstreams> http2_upstreams_;
  HandshakeRoutes handshake_routes_;
  HandshakeLog handshake_log_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<DownstreamConnection*> open_;  // each knows its position
  TaskGroup connections_;
  TaskGroup drain_;
  bool draining_ = false;
  bool drain_is_late_ = false;
  std::promise<void> ended_;
  std::future<void> end_ = ended_.get_future();
  std::thread thread_;
};

}  // namespace hedge::proxy
