// The edge's control thread: signals, the control socket, the route watcher and the Docker engine's client.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "proxy/control/managed_edge.h"
#include "proxy/upstream/upstream_source.h"
#include "router/route_watcher.h"

namespace hedge::proxy {

// How long the control thread waits for another writer of the store: signals, events of the engine and all
// other requests wait with it. A change that finds the store busy for longer is answered 503 `busy`.
inline constexpr std::chrono::milliseconds kStoreBusyLimit{100};

struct ControlOptions {
  std::filesystem::path state_directory;
  std::filesystem::path control_socket;
  router::RouteWatcher::OpenStore open_store;  // with kStoreBusyLimit
  std::vector<router::Route> static_routes;
  // SIGHUP: the settings file's routes as they are now. A failure is logged and shown by GET /v1/status, and
  // the routes stay as they were. Empty: there is no settings file.
  std::function<Result<std::vector<router::Route>>()> reload_static_routes;
  // The settings' docker_host, else DOCKER_HOST; absent: the standard socket.
  std::optional<std::string> docker_host;
  bool is_docker_tls = false;  // what listens at a tcp:// docker_host speaks TLS
  // The settings' network for docker: upstreams.
  std::optional<std::string> docker_network;
  // What GET /v1/status warns of besides the routes' own warnings, for the table that is published. Empty: nothing.
  std::function<std::vector<std::string>(const router::RouteTable& table)> more_warnings;
  // How often the store is looked at for a change that nobody told. Below a second.
  std::chrono::milliseconds watch_interval{500};
};

// In order: create(), make the edge with docker(), start(edge, edge), wait_for_stop(), let the edge finish
// draining (upstreams are still resolved), stop().
class ControlThread {
 public:
  // Takes the state directory and the control socket. Nothing runs yet and nothing is asked of anybody.
  // Errors: already_exists `edge_already_running` (a living edge holds one of them); invalid_input,
  // permission, no_space, io.
  static Result<std::unique_ptr<ControlThread>> create(ControlOptions options);
  ~ControlThread();  // stop()

  // For the workers. Lifetime: the ControlThread's.
  UpstreamSource& docker();

  // Reads the routes and publishes the first table (on the calling thread), then starts the thread: signals
  // and control requests are served from here on. An unreadable store is a warning, never a reason not to
  // start. Call once. Lifetime: `edge` and `events` live until stop() has returned.
  void start(ManagedEdge& edge, UpstreamEvents& events);

  // Blocks until SIGTERM, SIGINT or request_stop(); the edge has then been told to drain.
  void wait_for_stop();
  // As if SIGTERM had come. Any thread.
  void request_stop();
  // Ends the thread and removes the socket. Idempotent.
  void stop();

 private:
  class Impl;
  explicit ControlThread(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hedge::proxy
