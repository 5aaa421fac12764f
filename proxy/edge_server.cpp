#include "proxy/edge_server.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>

namespace hedge::proxy {

Result<std::unique_ptr<EdgeServer>> EdgeServer::create(EdgeSettings settings, WorkerShared shared,
                                                       std::vector<BoundAddress> addresses,
                                                       std::size_t workers) {
  std::unique_ptr<EdgeServer> server(new EdgeServer(std::move(settings)));
  auto sockets = server->spread(std::move(addresses), workers);
  if (!sockets) return std::move(sockets).error();
  shared.settings = &server->settings_;
  shared.connections = &server->connections_;
  for (std::vector<ListeningSocket>& own : *sockets) {
    Result<std::unique_ptr<EdgeWorker>> worker = EdgeWorker::create(shared, std::move(own));
    if (!worker) return std::move(worker).error();
    server->workers_.push_back(std::move(worker).value());
  }
  return server;
}

Result<std::vector<std::vector<ListeningSocket>>> EdgeServer::spread(std::vector<BoundAddress> addresses,
                                                                     std::size_t workers) {
  std::vector<std::vector<ListeningSocket>> spread(workers);
  std::vector<OpenAddress> opened;
  for (BoundAddress& bound : addresses) {
    OpenAddress address{next_address_++, bound.kind, bound.address, bound.asked, {}};
    // A socket that two workers share is two descriptors, so that either may close its own.
    for (std::size_t i = bound.sockets.size(); i < workers && !bound.sockets.empty(); ++i) {
      UniqueFd shared(::fcntl(bound.sockets[i % bound.sockets.size()].get(), F_DUPFD_CLOEXEC, 3));
      if (!shared) return Error::from_errno(errno, "share a listening socket");
      bound.sockets.push_back(std::move(shared));
    }
    for (std::size_t i = 0; i < bound.sockets.size(); ++i) {
      address.sockets.push_back(bound.sockets[i].get());
      spread[i % workers].push_back({std::move(bound.sockets[i]), bound.kind, address.number});
    }
    opened.push_back(std::move(address));
  }
  const std::lock_guard lock(mutex_);
  addresses_.insert(addresses_.end(), opened.begin(), opened.end());
  return spread;
}

std::vector<OpenAddress> EdgeServer::addresses() const {
  const std::lock_guard lock(mutex_);
  return addresses_;
}

Result<void> EdgeServer::add_addresses(std::vector<BoundAddress> addresses) {
  auto sockets = spread(std::move(addresses), workers_.size());
  if (!sockets) return std::move(sockets).error();
  for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i]->add_listeners(std::move((*sockets)[i]));
  return {};
}

void EdgeServer::remove_address(std::uint32_t number) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(addresses_, [number](const OpenAddress& address) { return address.number == number; });
  }
  for (const auto& worker : workers_) worker->remove_listeners(number);
}

void EdgeServer::change_settings(const EdgeSettings& settings) {
  for (const auto& worker : workers_) worker->change_settings(settings);
}

void EdgeServer::pause_accepting() {
  ++pauses_;
  for (const auto& worker : workers_) worker->pause_accepting(pauses_);
}

bool EdgeServer::has_paused() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [this](const auto& worker) { return worker->last_pause() == pauses_; });
}

void EdgeServer::resume_accepting() {
  for (const auto& worker : workers_) worker->resume_accepting();
}

void EdgeServer::leave_to_successor() {
  for (const auto& worker : workers_) worker->drain_for_successor();
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
  {
    const std::lock_guard lock(mutex_);
    for (const OpenAddress& open : addresses_) {
      facts.listeners.push_back(
          {open.kind == ListenerKind::tls ? "https" : "http", open.address.ip, open.address.port});
    }
  }
  facts.workers = static_cast<std::uint32_t>(workers_.size());
  for (const auto& worker : workers_) facts.connections += worker->stats().connections_open.value();
  return facts;
}

EdgeMetrics EdgeServer::metrics() const {
  EdgeMetrics sums;
  sums.workers = workers_.size();
  for (const auto& worker : workers_) {
    const WorkerStats& stats = worker->stats();
    sums.connections_open += stats.connections_open.value();
    sums.connections += stats.connections_total.value();
    sums.accept_back_offs += stats.accept_back_offs.value();
    sums.handshakes_done += stats.handshakes_done.value();
    for (std::size_t i = 0; i < kHandshakeFailures; ++i)
      sums.handshakes_failed[i] += stats.handshakes_failed[i].value();
    sums.requests += stats.requests.value();
    sums.resolves += stats.resolves.value();
    sums.upstream_connects += stats.upstream_connects.value();
    worker->traffic().add_to(sums.traffic);
  }
  return sums;
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

std::uint16_t EdgeServer::port(ListenerKind kind) const {
  const std::lock_guard lock(mutex_);
  for (const OpenAddress& open : addresses_) {
    if (open.kind == kind) return open.address.port;
  }
  return 0;
}

}  // namespace hedge::proxy
