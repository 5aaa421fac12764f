#include "proxy/edge_server.h"

#include <utility>

namespace hedge::proxy {

Result<std::unique_ptr<EdgeServer>> EdgeServer::create(EdgeSettings settings, WorkerShared shared,
                                                       std::vector<BoundAddress> addresses,
                                                       std::size_t workers) {
  std::unique_ptr<EdgeServer> server(new EdgeServer(std::move(settings)));
  for (const BoundAddress& bound : addresses) {
    const bool tls = bound.kind == ListenerKind::tls;
    server->listeners_.push_back({tls ? "https" : "http", bound.address.ip, bound.address.port});
  }
  if (server->settings_.https_port == 0) server->settings_.https_port = server->port(ListenerKind::tls);
  shared.settings = &server->settings_;
  for (std::size_t i = 0; i < workers; ++i) {
    std::vector<ListeningSocket> sockets;
    for (BoundAddress& bound : addresses) sockets.push_back({std::move(bound.sockets[i]), bound.kind});
    Result<std::unique_ptr<EdgeWorker>> worker = EdgeWorker::create(shared, std::move(sockets));
    if (!worker) return std::move(worker).error();
    server->workers_.push_back(std::move(worker).value());
  }
  return server;
}

EdgeServer::~EdgeServer() = default;

void EdgeServer::start() {
  for (const auto& worker : workers_) worker->start();
}

void EdgeServer::join() {
  for (const auto& worker : workers_) worker->join();
}

bool EdgeServer::join_within(std::chrono::milliseconds limit) {
  const SteadyTime until = std::chrono::steady_clock::now() + limit;
  for (const auto& worker : workers_) {
    if (!worker->wait_until_ended(until)) return false;
  }
  join();
  return true;
}

void EdgeServer::publish(std::shared_ptr<const router::RouteTable> table) {
  for (const auto& worker : workers_) worker->publish(table);
}

EdgeFacts EdgeServer::facts() const {
  EdgeFacts facts;
  facts.listeners = listeners_;
  facts.workers = static_cast<std::uint32_t>(workers_.size());
  for (const auto& worker : workers_) facts.connections += worker->stats().connections_open.value();
  return facts;
}

void EdgeServer::begin_drain() {
  for (const auto& worker : workers_) worker->drain();
}

void EdgeServer::identity_gone(std::string identity) {
  for (const auto& worker : workers_) worker->identity_gone(identity);
}

void EdgeServer::docker_answers_changed() {
  for (const auto& worker : workers_) worker->docker_answers_changed();
}

std::uint16_t EdgeServer::port(ListenerKind kind) const noexcept {
  const char* scheme = kind == ListenerKind::tls ? "https" : "http";
  for (const router::EdgeListener& listener : listeners_) {
    if (listener.scheme == scheme) return listener.port;
  }
  return 0;
}

}  // namespace hedge::proxy
