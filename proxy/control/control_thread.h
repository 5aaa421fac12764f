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
#include "proxy/control/control_socket.h"
#include "proxy/control/edge_claim.h"
#include "proxy/control/managed_edge.h"
#include "proxy/upstream/upstream_source.h"
#include "router/route_watcher.h"

namespace hedge::proxy {

class AccessLog;

// What a reading of the settings file gives the control thread.
struct ReloadedSettings {
  std::vector<router::Route> routes;
  std::vector<std::string> notes;  // for people; shown by GET /v1/status until the next reading
};

// How long the control thread waits for another writer of the store: signals, events of the engine and all
// other requests wait with it. A change that finds the store busy for longer is answered 503 `busy`.
inline constexpr std::chrono::milliseconds kStoreBusyLimit{100};

struct ControlOptions {
  std::filesystem::path state_directory;
  std::filesystem::path control_socket;
  router::RouteWatcher::OpenStore open_store;  // with kStoreBusyLimit
  std::vector<router::Route> static_routes;
  // SIGHUP: reads the settings file and applies it but for its routes. A failure is logged and shown by GET
  // /v1/status, and everything stays as it was. Empty: there is no settings file.
  std::function<Result<ReloadedSettings>()> reload;
  // The settings' docker_host, else DOCKER_HOST; absent: the standard socket.
  std::optional<std::string> docker_host;
  bool is_docker_tls = false;  // what listens at a tcp:// docker_host speaks TLS
  // The settings' network for docker: upstreams.
  std::optional<std::string> docker_network;
  // Opened anew by each SIGHUP; the metrics tell its dropped lines. Null: none is written. Outlives the thread.
  AccessLog* access_log = nullptr;
  // Why no other process may take over; absent: it may.
  std::optional<std::string> takeover_refusal;
  // What GET /v1/status warns of besides the routes' own warnings, for the table that is published. Empty: nothing.
  std::function<std::vector<std::string>(const router::RouteTable& table)> more_warnings;
  // How often the store is looked at for a change that nobody told. Below a second.
  std::chrono::milliseconds watch_interval{500};
};

// In order: create(), make the edge with docker(), prepare(edge, edge), start(), wait_for_stop(), let the
// edge finish draining (upstreams are still resolved), stop().
class ControlThread {
 public:
  // Takes the state directory and the control socket. Nothing runs yet and nothing is asked of anybody.
  // Errors: already_exists `edge_already_running` (a living edge holds one of them); invalid_input,
  // permission, no_space, io.
  static Result<std::unique_ptr<ControlThread>> create(ControlOptions options);
  // With what another edge hands over; the files are that edge's until own_socket().
  static std::unique_ptr<ControlThread> create(ControlOptions options, EdgeClaim claim, ControlSocket socket);
  ~ControlThread();  // stop()

  // For the workers. Lifetime: the ControlThread's.
  UpstreamSource& docker();

  // Reads the routes and publishes the first table, on the calling thread. An unreadable store is a warning,
  // never a reason not to start. Call once. Lifetime: `edge` and `events` live until stop() has returned.
  void prepare(ManagedEdge& edge, UpstreamEvents& events);
  // Starts the thread: signals and control requests are served from here on. Requires: prepare().
  void start();
  void start(ManagedEdge& edge, UpstreamEvents& events) {
    prepare(edge, events);
    start();
  }

  // The takeover has succeeded: what was handed over is this process's to remove. Any thread.
  void own_socket();

  // Blocks until SIGTERM, SIGINT or request_stop(), or until another process has taken over; the edge has
  // then been told to drain.
  void wait_for_stop();
  // As if SIGTERM had come. Any thread.
  void request_stop();
  // As if SIGHUP had come. Any thread.
  void request_reload();
  // Ends the thread and removes the socket. Idempotent.
  void stop();

 private:
  class Impl;
  explicit ControlThread(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hedge::proxy
