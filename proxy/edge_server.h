// The edge: its workers, and the control thread's and the container engine's way to reach all of them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
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
  // Makes `workers` workers and spreads the sockets of each address over them; where there are fewer sockets
  // than workers, workers share them. Nothing is accepted before start().
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
  EdgeMetrics metrics() const override;
  void begin_drain() override;
  void identity_gone(std::string identity) override;
  void docker_answers_changed() override;

  // From the control thread, which does one of these at a time.

  // What it listens on. The sockets are the workers', valid until the address is removed or a drain begins.
  std::vector<OpenAddress> addresses() const override;
  // Errors: no_space (descriptors); then nothing was added.
  Result<void> add_addresses(std::vector<BoundAddress> addresses);
  void remove_address(std::uint32_t number);
  // What of them may change while the workers run (EdgeWorker::change_settings); the rest is as at the start.
  void change_settings(const EdgeSettings& settings);
  void pause_accepting() override;
  bool has_paused() const override;
  void resume_accepting() override;
  void leave_to_successor() override;

  const std::vector<std::unique_ptr<EdgeWorker>>& workers() const noexcept { return workers_; }
  // The real port of the first address of a kind; 0 if there is none.
  std::uint16_t port(ListenerKind kind) const;

 private:
  explicit EdgeServer(EdgeSettings settings) : settings_(std::move(settings)) {}

  // One list for each worker.
  Result<std::vector<std::vector<ListeningSocket>>> spread(std::vector<BoundAddress> addresses,
                                                           std::size_t workers);

  EdgeSettings settings_;
  mutable std::mutex mutex_;
  std::vector<OpenAddress> addresses_;  // guarded by mutex_
  std::uint32_t next_address_ = 1;
  std::uint32_t pauses_ = 0;
  std::atomic<std::uint64_t> connections_ = 0;  // the workers' count
  std::vector<std::unique_ptr<EdgeWorker>> workers_;
};

}  // namespace hedge::proxy
