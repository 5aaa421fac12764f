// The edge's control thread: signals, the control socket, the route watcher and the Docker engine's client.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "proxy/control/managed_edge.h"
#include "router/route_watcher.h"

namespace hedge::proxy {

class DockerEngine;

struct ControlOptions {
  std::filesystem::path state_directory;
  std::filesystem::path control_socket;
  router::RouteWatcher::OpenStore open_store;
  std::vector<router::Route> static_routes;
  // SIGHUP: the settings file's routes as they are now. A failure is logged and the routes stay as they were.
  std::function<Result<std::vector<router::Route>>()> reload_static_routes;
  // How often the store is looked at for a change that nobody told.
  std::chrono::milliseconds watch_interval{500};
};

class ControlThread {
 public:
  // Takes the control socket, reads the routes and publishes the first table to `edge` (on the calling thread), then
  // starts the thread. Signals are handled from here on.
  // An unreadable store is a warning, never a reason not to start.
  // Errors: already_exists `edge_already_running` (a living edge holds the socket); permission, no_space, io.
  // Lifetime: `edge` outlives the ControlThread.
  static Result<std::unique_ptr<ControlThread>> start(ControlOptions options, ManagedEdge& edge);
  ~ControlThread();  // stop()

  // Blocks until SIGTERM, SIGINT or request_stop(), at which the edge has been told to drain.
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
