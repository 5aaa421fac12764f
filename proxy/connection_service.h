// What speaks a protocol on an accepted connection.
#pragma once

#include "base/task.h"

namespace hedge::proxy {

class DownstreamConnection;
class EdgeWorker;

class ConnectionService {
 public:
  virtual ~ConnectionService() = default;
  // Serves the connection until it is over. Returning closes it. Called for each connection after the TLS
  // handshake; many calls run at once on the worker's thread. Lifetime: both outlive the task.
  virtual Task<void> serve(EdgeWorker& worker, DownstreamConnection& connection) = 0;
};

}  // namespace hedge::proxy
