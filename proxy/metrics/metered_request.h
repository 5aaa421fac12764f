// Counts one request for its worktree, from its route to its end.
#pragma once

#include <chrono>

#include "proxy/access_log.h"
#include "proxy/metrics/worker_traffic.h"

namespace hedge::proxy {

class MeteredRequest {
 public:
  // Counts as unrouted until routed() is called. Lifetime: both outlive this.
  MeteredRequest(WorkerTraffic& traffic, const AccessRecord& record,
                 std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now());
  // Counts the request as its record says by then.
  ~MeteredRequest();
  MeteredRequest(const MeteredRequest&) = delete;
  MeteredRequest& operator=(const MeteredRequest&) = delete;

  // `by_itself`: it is one that open pages make again and again without anybody there.
  void routed(const router::Route& route, bool by_itself);
  // Connected with the protocol's own bytes from here on; the time until now is the request's duration.
  void tunnel_opened();

 private:
  WorkerTraffic& traffic_;
  const AccessRecord& record_;
  const std::chrono::steady_clock::time_point start_;
  WorktreeMeter* meter_ = nullptr;
  bool is_tunnel_ = false;
  std::uint64_t tunnel_micros_ = 0;
};

// A request that never got as far as the router (malformed, sent to https).
void count_unrouted(WorkerTraffic& traffic, const AccessRecord& record,
                    std::chrono::steady_clock::time_point start);

}  // namespace hedge::proxy
