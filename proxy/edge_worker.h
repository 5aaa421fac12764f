// One thread of the edge: a reactor and everything that only this thread touches.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
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
#include "proxy/listener.h"
#include "proxy/metrics/worker_traffic.h"
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
class Resolver;
class UpstreamSource;

// What all workers share; immutable or thread-safe, and outlives them.
struct WorkerShared {
  const EdgeSettings* settings = nullptr;  // each worker takes a copy
  TlsContext* tls = nullptr;               // null: no certificates, TLS connections are closed
  UpstreamSource* docker = nullptr;        // null: docker: upstreams are engine_not_installed
  ConnectionService* service = nullptr;
  std::atomic<std::uint64_t>* connections = nullptr;  // open ones of all workers
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
  // The same for a worker whose listening sockets another process has taken over: nobody is accepted any
  // more, and a client that is between two requests may send one more, whose answer ends the connection.
  void drain_for_successor();
  // Settings that may change while the worker runs: limits and cookies. The rest of `settings` is
  // passed over.
  void change_settings(EdgeSettings settings);
  void add_listeners(std::vector<ListeningSocket> sockets);
  // Clients in its queue are accepted before it is closed.
  void remove_listeners(std::uint32_t address);
  // Clients wait in the queue until resume_accepting(). Done when last_pause() tells this number.
  void pause_accepting(std::uint32_t number);
  void resume_accepting();
  std::uint32_t last_pause() const noexcept { return last_pause_.load(std::memory_order_acquire); }
  // False: the thread has not ended by then.
  bool wait_until_ended(SteadyTime limit) const;
  void join();
  const WorkerStats& stats() const noexcept { return stats_; }
  const WorkerTraffic& traffic() const noexcept { return traffic_; }

  // On the worker's own thread: what a connection's coroutines use.

  Reactor& reactor() noexcept { return *reactor_; }
  BufferPool& buffers() noexcept { return buffers_; }
  PipePool& pipes() noexcept { return pipes_; }
  UpstreamPools& upstreams() noexcept { return *upstreams_; }
  http::Http2Upstreams& http2_upstreams() noexcept { return *http2_upstreams_; }
  WorkerStats& mutable_stats() noexcept { return stats_; }
  WorkerTraffic& traffic() noexcept { return traffic_; }
  const EdgeSettings& settings() const noexcept { return settings_; }
  // Copy it once for each exchange: the routes in it live as long as the copy. Never null.
  const std::shared_ptr<const router::RouteTable>& routes() const noexcept { return routes_; }
  // Answer, then close: say `Connection: close`.
  bool draining() const noexcept { return draining_; }
  // While draining: idle clients wait for their next request to be told, instead of being closed.
  bool has_successor() const noexcept { return has_successor_; }

 private:
  friend class DownstreamConnection;
  friend class Listener;
  EdgeWorker(WorkerShared shared, std::unique_ptr<Reactor> reactor);

  Result<void> listen(std::vector<ListeningSocket> sockets);
  void take_arrived_sockets();
  void run();
  void sweep();
  void begin_drain();
  void begin_drain_for_successor();
  void finish_connections();
  Task<void> finish_drain();
  // For listeners and connections.
  void take(UniqueFd client, ListenerKind listener);
  bool is_full() const noexcept;
  Task<void> serve(std::unique_ptr<SocketStream> client, ListenerKind listener);
  void enter(DownstreamConnection& connection);
  void leave(DownstreamConnection& connection) noexcept;
  TlsContext* tls() const noexcept { return shared_.tls; }
  const HandshakeRoutes& handshake_routes() const noexcept { return handshake_routes_; }
  HandshakeLog& handshake_log() noexcept { return handshake_log_; }

  WorkerShared shared_;
  EdgeSettings settings_;
  WorkerStats stats_;
  WorkerTraffic traffic_;
  bool has_new_routes_ = false;  // since the last sweep
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
  std::mutex mutex_;
  std::vector<ListeningSocket> arrived_;  // guarded by mutex_; a posted message cannot carry them
  bool draining_ = false;
  bool has_successor_ = false;
  std::atomic<std::uint32_t> last_pause_ = 0;
  bool drain_is_late_ = false;
  std::promise<void> ended_;
  std::future<void> end_ = ended_.get_future();
  std::thread thread_;
};

}  // namespace hedge::proxy
