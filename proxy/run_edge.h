// The whole life of an edge process: from the settings to the end of the drain.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/subprocess.h"
#include "config/paths.h"
#include "proxy/edge_settings.h"
#include "router/edge_settings.h"

namespace hedge::proxy {

struct RunEdgeOptions {
  // As the settings file says, with the command line's changes.
  router::EdgeSettings settings;
  // SIGHUP: reads the settings file again. Empty: there is none.
  std::function<Result<router::EdgeSettings>()> reload;
  config::Paths paths;  // of the state directory that is used, already made
  // The engine's address where the settings name none: DOCKER_HOST of the caller. Empty: the standard socket.
  std::string docker_host;
  // What the caller's environment says about `docker_host`: DOCKER_TLS_VERIFY, DOCKER_TLS or DOCKER_CERT_PATH.
  bool is_docker_tls = false;
  // Takes the place of the edge that runs for this state directory, if there is one, without a refused
  // connection: it finishes what it has open, and everything new comes here.
  bool take_over = false;
  // For what a service manager says (LISTEN_FDS, NOTIFY_SOCKET).
  Environment environment;
  // Where `access_log = "-"` goes.
  int standard_output = 1;
  EdgeLimits limits;
  // Called once, when every port accepts: one line for each address, then the notices.
  std::function<void(const std::string& line)> announce;
};

// Serves until SIGTERM or SIGINT, or until another process takes over, then drains.
// Errors: already_exists `edge_already_running`, `port_in_use`; permission `port_forbidden`; refused
// `takeover_refused`; invalid_input `activation_invalid`; what the
// settings got wrong. No route, name, container or certificate authority can keep it from starting. Lifetime:
// `clock` outlives the call. Requires: no other thread handles signals.
Result<void> run_edge(RunEdgeOptions options, const Clock& clock);

}  // namespace hedge::proxy
