// The edge: its workers, and the control thread's and the container engine's way to reach all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "proxy/control/managed_edge.h"
#include "proxy/edge_settings.h"
#include "proxy/edge_worker.h"
#include "proxy/listening_sockets.h"
#include "proxy/upstream/upstream_source.h"

namespace hedge::proxy {

class EdgeServer final : public ManagedEdge, public UpstreamEvents {
 public:
  // Makes as many workers as each address has sockets. Nothing is accepted before start().
  // `shared.settings` is filled in here; the rest of `shared` outlives the server.
  // Errors: no_space (descriptors).
  static Result<std::unique_ptr<EdgeServer>> create(EdgeSettings settings, WorkerShared shared,
                                                    std::vector<BoundAddress> addresses, std::size_t workers);
  // Requires: never started, or join() has returned.
  ~EdgeServer() override;

  void start();
  // Blocks until every worker has drained.
  void join();
  // The same with a bound. False: a coroutine of some worker waits for something that nothing ends, which is
  // a bug; the server must not be destroyed then.
  bool join_within(std::chrono::milliseconds limit);

  // From any thread.

  void publish(std::shared_ptr<const router::RouteTable> table) override;
  EdgeFacts facts() const override;
  void begin_drain() override;
  void identity_gone(std::string identity) override;
  void docker_answers_changed() override;

  const std::vector<std::unique_ptr<EdgeWorker>>& workers() const noexcept { return workers_; }
  // The real port of the first address of a kind; 0 if there is none.
  std::uint16_t port(ListenerKind kind) const noexcept;

 private:
  explicit EdgeServer(EdgeSettings settings) : settings_(std::move(settings)) {}

  EdgeSettings settings_;
  std::vector<router::EdgeListener> listeners_;
  std::vector<std::unique_ptr<EdgeWorker>> workers_;
};

}  // namespace hedge::proxy
