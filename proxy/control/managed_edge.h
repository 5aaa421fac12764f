// What the control thread tells and asks the edge that it steers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "proxy/listening_sockets.h"
#include "proxy/metrics/edge_metrics.h"
#include "router/edge_client.h"
#include "router/route_table.h"

namespace hedge::proxy {

struct EdgeFacts {
  std::vector<router::EdgeListener> listeners;
  std::uint32_t workers = 0;
  std::uint64_t connections = 0;  // open ones of clients, now
};

// Called on the control thread only; none of the calls may block.
class ManagedEdge {
 public:
  virtual ~ManagedEdge() = default;
  // Hands the table to every worker. The first one may come before the listeners accept.
  virtual void publish(std::shared_ptr<const router::RouteTable> table) = 0;
  virtual EdgeFacts facts() const = 0;
  virtual EdgeMetrics metrics() const = 0;
  virtual std::vector<OpenAddress> addresses() const = 0;
  // Clients wait in their queues until resume_accepting().
  virtual void pause_accepting() = 0;
  // No worker accepts any more.
  virtual bool has_paused() const = 0;
  virtual void resume_accepting() = 0;
  // Another process has the listening sockets now: what is open finishes, nobody is closed while idle.
  virtual void leave_to_successor() = 0;
  // SIGTERM or SIGINT: no new connections, the open ones may finish within the edge's own limit.
  virtual void begin_drain() = 0;
};

}  // namespace hedge::proxy
