// The meeting point of the workers and whatever knows containers: a worker asks, the control thread answers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "proxy/proxy_error.h"
#include "proxy/upstream/endpoint.h"
#include "router/route.h"

namespace hedge::proxy {

// Where an upstream is now. Immutable once shared.
struct ResolvedUpstream {
  // Names the process behind the addresses, so that a connection to one container is never used for another:
  // "<container id>:<port>" for docker, the address for the rest. Keys the connection pools.
  std::string identity;
  // In the order in which to try them; not empty.
  std::vector<Endpoint> endpoints;
  // For pages and logs: "container wt-alpha-app (172.18.0.4:8000)".
  std::string description;
};

using ResolvedUpstreamPtr = std::shared_ptr<const ResolvedUpstream>;
using UpstreamAnswer = std::variant<ResolvedUpstreamPtr, ProxyError>;

// Resolves docker: upstreams. Implemented by the Docker engine's client on the control thread; a fake in
// tests.
class UpstreamSource {
 public:
  virtual ~UpstreamSource() = default;

  // Called on any worker's thread; returns at once. `reply` is called exactly once, on any thread (also from
  // inside this call): it posts to the worker that asked. The worker waits one second and no longer; a later
  // reply is ignored.
  virtual void resolve(const router::DockerUpstream& upstream, std::function<void(UpstreamAnswer)> reply) = 0;
};

// What the source tells the workers about changes. Implemented by EdgeServer, which posts to each worker. Any
// thread.
class UpstreamEvents {
 public:
  virtual ~UpstreamEvents() = default;
  // The process behind this identity is gone: its idle connections are closed and the busy ones never reused.
  virtual void identity_gone(std::string identity) = 0;
  // Answers about docker: upstreams are asked for anew (containers came, went or changed networks).
  virtual void docker_answers_changed() = 0;
};

}  // namespace hedge::proxy
