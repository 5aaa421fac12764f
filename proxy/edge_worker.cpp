#include "proxy/edge_worker.h"

#include <csignal>
#include <utility>

#include "base/log.h"
#include "proxy/http2/http2_upstreams.h"
#include "proxy/listener.h"
#include "proxy/stream/socket_stream.h"
#include "proxy/upstream/connector.h"
#include "proxy/upstream/resolver.h"

namespace hedge::proxy {
namespace {

// Signals are the control thread's; one that interrupted a worker would only shorten a write.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

Result<std::unique_ptr<EdgeWorker>> EdgeWorker::create(WorkerShared shared,
                                                       std::vector<ListeningSocket> listeners) {
  Result<std::unique_ptr<Reactor>> reactor = Reactor::create(shared.settings->limits.sweep);
  if (!reactor) return std::move(reactor).error();
  std::unique_ptr<EdgeWorker> worker(new EdgeWorker(shared, std::move(reactor).value()));
  if (Result<void> listening = worker->listen(std::move(listeners)); !listening)
    return std::move(listening).error();
  return worker;
}

EdgeWorker::EdgeWorker(WorkerShared shared, std::unique_ptr<Reactor> reactor)
    : shared_(shared),
      settings_(*shared.settings),
      reactor_(std::move(reactor)),
      routes_(router::RouteTable::build({})),
      resolver_(std::make_unique<Resolver>(*reactor_, settings_, shared.docker, stats_)),
      connector_(std::make_unique<Connector>(*reactor_, settings_, stats_)),
      upstream_tls_(settings_, *reactor_, buffers_.scratch()),
      upstreams_(std::make_unique<UpstreamPools>(*reactor_, *resolver_, *connector_,
                                                 settings_.limits.upstream_idle)),
      http2_upstreams_(
          std::make_unique<http::Http2Upstreams>(*upstreams_, *reactor_, buffers_, settings_.limits)),
      handshake_routes_{&routes_} {
  upstreams_->use_tls(upstream_tls_);
  reactor_->set_on_sweep([this] { sweep(); });
}

EdgeWorker::~EdgeWorker() = default;

Result<void> EdgeWorker::listen(std::vector<ListeningSocket> sockets) {
  for (ListeningSocket& socket : sockets) {
    auto listener = std::make_unique<Listener>(*this, std::move(socket));
    if (Result<void> started = listener->start(); !started) return started;
    listeners_.push_back(std::move(listener));
  }
  return {};
}

void EdgeWorker::start() {
  thread_ = std::thread([this] { run(); });
}

void EdgeWorker::run() {
  block_signals();
  reactor_->run();
  ended_.set_value();
}

bool EdgeWorker::wait_until_ended(SteadyTime limit) const {
  return end_.wait_until(limit) == std::future_status::ready;
}

void EdgeWorker::join() {
  if (thread_.joinable()) thread_.join();
}

void EdgeWorker::publish(std::shared_ptr<const router::RouteTable> table) {
  reactor_->post([this, table = std::move(table)] {
    routes_ = table;
    has_new_routes_ = true;
  });
}

void EdgeWorker::identity_gone(std::string identity) {
  reactor_->post([this, identity = std::move(identity)] { upstreams_->retire(identity); });
}

void EdgeWorker::docker_answers_changed() {
  reactor_->post([this] { upstreams_->forget_docker_answers(); });
}

void EdgeWorker::drain() {
  reactor_->post([this] { begin_drain(); });
}

void EdgeWorker::drain_for_successor() {
  reactor_->post([this] { begin_drain_for_successor(); });
}

void EdgeWorker::change_settings(EdgeSettings settings) {
  // The rest stays: what is made of it (the roots for upstreams, the resolver) is made once, when it is needed
  // first, and must not differ from worker to worker.
  reactor_->post([this, settings = std::move(settings)] {
    settings_.limits = settings.limits;
    settings_.narrow_cookies = settings.narrow_cookies;
  });
}

void EdgeWorker::add_listeners(std::vector<ListeningSocket> sockets) {
  {
    const std::lock_guard lock(mutex_);
    for (ListeningSocket& socket : sockets) arrived_.push_back(std::move(socket));
  }
  reactor_->post([this] { take_arrived_sockets(); });
}

void EdgeWorker::take_arrived_sockets() {
  std::vector<ListeningSocket> sockets;
  {
    const std::lock_guard lock(mutex_);
    sockets.swap(arrived_);
  }
  if (draining_) return;
  if (Result<void> started = listen(std::move(sockets)); !started)
    log::error("an added address is not served by every worker: {}", started.error().to_string());
}

void EdgeWorker::remove_listeners(std::uint32_t address) {
  reactor_->post([this, address] {
    for (const std::unique_ptr<Listener>& listener : listeners_) {
      if (listener->address() == address) listener->accept_waiting();
    }
    std::erase_if(listeners_, [address](const auto& listener) { return listener->address() == address; });
  });
}

void EdgeWorker::pause_accepting(std::uint32_t number) {
  reactor_->post([this, number] {
    for (const std::unique_ptr<Listener>& listener : listeners_) listener->pause();
    last_pause_.store(number, std::memory_order_release);
  });
}

void EdgeWorker::resume_accepting() {
  reactor_->post([this] {
    for (const std::unique_ptr<Listener>& listener : listeners_) {
      if (Result<void> started = listener->start(); !started)
        log::error("a listener does not go on: {}", started.error().to_string());
    }
  });
}

void EdgeWorker::take(UniqueFd client, ListenerKind listener) {
  Result<std::unique_ptr<SocketStream>> stream = SocketStream::accepted(*reactor_, std::move(client));
  if (!stream) {
    log::warning("a connection is closed at once: {}", stream.error().to_string());
    return;
  }
  connections_.spawn(serve(std::move(stream).value(), listener));
}

bool EdgeWorker::is_full() const noexcept {
  return settings_.most_connections != 0 && shared_.connections != nullptr &&
         shared_.connections->load(std::memory_order_relaxed) >= settings_.most_connections;
}

Task<void> EdgeWorker::serve(std::unique_ptr<SocketStream> client, ListenerKind listener) {
  DownstreamConnection connection(*this, std::move(client), listener);
  const bool opened = co_await connection.open();
  if (opened) co_await shared_.service->serve(*this, connection);
}

void EdgeWorker::enter(DownstreamConnection& connection) {
  connection.position = open_.size();
  open_.push_back(&connection);
  if (shared_.connections != nullptr) shared_.connections->fetch_add(1, std::memory_order_relaxed);
  stats_.connections_open.add();
  stats_.connections_total.add();
}

void EdgeWorker::leave(DownstreamConnection& connection) noexcept {
  open_.back()->position = connection.position;
  open_[connection.position] = open_.back();
  open_.pop_back();
  if (shared_.connections != nullptr) shared_.connections->fetch_sub(1, std::memory_order_relaxed);
  stats_.connections_open.subtract();
}

void EdgeWorker::sweep() {
  http2_upstreams_->sweep();
  upstreams_->sweep();
  resolver_->sweep();
  if (has_new_routes_) {
    traffic_.forget_absent(*routes_);
    // Worktrees with an open request have stayed.
    has_new_routes_ = !open_.empty();
  }
  // Past the drain's limit whatever still waits is told so, at each sweep, until everything has ended.
  if (drain_is_late_) reactor_->deadlines().expire_all();
}

void EdgeWorker::begin_drain() {
  if (std::exchange(draining_, true)) return;
  for (DownstreamConnection* connection : open_) connection->begin_drain();
  // Clients in the queue believe that they are connected; each gets one answer.
  for (const std::unique_ptr<Listener>& listener : listeners_) listener->accept_waiting();
  finish_connections();
}

void EdgeWorker::begin_drain_for_successor() {
  if (std::exchange(draining_, true)) return;
  has_successor_ = true;
  for (DownstreamConnection* connection : open_) connection->begin_drain();
  finish_connections();
}

void EdgeWorker::finish_connections() {
  listeners_.clear();
  upstreams_->close_idle();
  drain_.spawn(finish_drain());
}

Task<void> EdgeWorker::finish_drain() {
  Timer limit(*reactor_, this, [](void* self) {
    auto& worker = *static_cast<EdgeWorker*>(self);
    worker.drain_is_late_ = true;
    for (DownstreamConnection* connection : worker.open_) connection->stream().cancel();
  });
  limit.start(settings().limits.drain);
  co_await connections_.join();
  co_await http2_upstreams_->close();
  reactor_->stop();
}

}  // namespace hedge::proxy
