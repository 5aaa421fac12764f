// Where an upstream is right now. One query for all who ask at once; answers live a second, failures a
// quarter of one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/task.h"
#include "proxy/edge_settings.h"
#include "proxy/stream/reactor.h"
#include "proxy/stream/signal.h"
#include "proxy/upstream/ares_channel.h"
#include "proxy/upstream/upstream_source.h"
#include "proxy/worker_stats.h"
#include "router/route.h"

namespace hedge::proxy {

struct Resolution {
  UpstreamAnswer answer;
  // Until when the answer may be used again, on the reactor's clock.
  Millis fresh_until = 0;
  // It is an error only because nobody answered: what was known before may still be right.
  bool is_silence = false;
};

// Single-threaded; one a worker. Nothing is resolved before somebody asks.
class Resolver {
 public:
  // `docker` may be null: docker: upstreams are then engine_not_installed.
  Resolver(Reactor& reactor, const EdgeSettings& settings, UpstreamSource* docker, WorkerStats& stats);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Bounded by the limit of the settings (one second).
  // Errors: upstream_unresolved, upstream_timeout, and what the docker source says.
  Task<Resolution> resolve(const router::Upstream& upstream);

  // Forgets what is known about this upstream, or about all docker: upstreams, so that the next one asks
  // anew.
  void forget(const router::Upstream& upstream);
  void forget_docker_answers();
  // Drops answers that nobody may use any more; called once a sweep.
  void sweep();

  std::size_t known() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    explicit Entry(Reactor& reactor) : answered(reactor) {}
    Resolution last;
    std::uint64_t query = 0;  // the running one's number; 0: none
    std::uint32_t waiting = 0;
    Signal answered;
  };

  Task<Resolution> ask(std::string key, router::Upstream upstream);
  void start_query(const std::string& key, const router::Upstream& upstream, std::uint64_t query);
  void start_dns(const std::string& key, const router::DnsUpstream& upstream, std::uint64_t query);
  void start_docker(const std::string& key, const router::DockerUpstream& upstream, std::uint64_t query);
  void finish(const std::string& key, std::uint64_t query, Resolution resolution);

  Reactor& reactor_;
  const EdgeSettings& settings_;
  UpstreamSource* docker_;
  WorkerStats& stats_;
  std::unique_ptr<AresChannel> ares_;  // made when the first name is asked for
  std::map<std::string, std::unique_ptr<Entry>> entries_;
  std::uint64_t next_query_ = 1;
};

}  // namespace hedge::proxy
