#include "proxy/control/control_thread.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.h"
#include "base/task_group.h"
#include "proxy/access_log.h"
#include "proxy/control/asio_await.h"
#include "proxy/control/control_api.h"
#include "proxy/control/control_server.h"
#include "proxy/control/control_socket.h"
#include "proxy/control/docker_engine.h"
#include "proxy/control/edge_claim.h"
#include "proxy/control/edge_surroundings.h"
#include "proxy/control/event_feed.h"
#include "proxy/control/route_changes.h"

namespace hedge::proxy {
namespace asio = boost::asio;

namespace {

DockerEngineOptions engine_options(const ControlOptions& options) {
  DockerEngineOptions out;
  out.docker_host = options.docker_host;
  out.tcp = options.is_docker_tls ? EngineTransport::tls : EngineTransport::plain;
  out.place.configured_network = options.docker_network;
  out.place.is_connected = is_on_connected_network;
  out.own_container = find_own_container();
  out.is_own_address = is_address_of_this_host;
  return out;
}

}  // namespace

class ControlThread::Impl final : public ControlActions {
 public:
  Impl(ControlOptions options, EdgeClaim claim, ControlSocket socket)
      : claim_(std::move(claim)),
        options_(std::move(options)),
        signals_(io_),
        watch_timer_(io_),
        watcher_(options_.open_store, std::move(options_.static_routes)),
        engine_(io_, engine_options(options_)),
        server_(io_, std::move(socket), *this, events_, ControlLimits()) {}

  DockerEngine& engine() { return engine_; }
  asio::io_context& io() { return io_; }

  void prepare(ManagedEdge& edge, UpstreamEvents& events) {
    edge_ = &edge;
    engine_.tell(events);
    publish(watcher_.load());
  }

  void start() {
    boost::system::error_code failure;
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) signals_.add(number, failure);
    if (failure) log::error("signals cannot be handled: {}", failure.message());
    thread_ = std::thread([this] { run(); });
  }

  // On the control thread.
  void own_socket() {
    server_.own_socket();
    claim_.own();
    // What the edge before has confirmed since the first table was read here.
    if (auto changed = watcher_.load_if_changed()) publish(std::move(*changed));
  }
  void begin_drain() {
    // Not at once: sockets that are closed while copies of them are sent, or a place that is given up twice.
    if (is_handing_over_) {
      is_drain_wanted_ = true;
      return server_.cancel_handover();
    }
    if (std::exchange(is_draining_, true)) return;
    edge_->begin_drain();
    tell_of_drain();
  }

  std::optional<Error> begin_handover() override {
    if (options_.takeover_refusal)
      return Error(ErrorKind::conflict, *options_.takeover_refusal).with_id("takeover_refused");
    if (is_draining_) return Error(ErrorKind::busy, "this edge is ending").with_id("busy");
    if (std::exchange(is_handing_over_, true))
      return Error(ErrorKind::busy, "another process is taking over already").with_id("busy");
    return std::nullopt;
  }
  bool end_handover(bool taken_over) override {
    is_handing_over_ = false;
    const bool is_reload_wanted = std::exchange(is_reload_wanted_, false);
    if (!taken_over) {
      if (is_drain_wanted_) {
        begin_drain();
      } else if (is_reload_wanted) {
        reload();
      }
      return false;
    }
    is_draining_ = true;
    log::info("another process has taken over; what is open here may finish");
    claim_.leave();
    edge_->leave_to_successor();
    tell_of_drain();
    return is_reload_wanted;
  }
  void reload() {
    // Whoever rotates the log counts on this, whatever becomes of the settings.
    if (options_.access_log != nullptr) options_.access_log->reopen();
    if (is_draining_) return log::warning("a SIGHUP comes too late: this edge is ending");
    // Settings must not change under a process that is just reading them.
    if (is_handing_over_) {
      is_reload_wanted_ = true;
      return;
    }
    if (!options_.reload) return refresh();
    ++reloads_;
    reload_notes_.clear();
    auto reloaded = options_.reload();
    std::string detail;
    if (reloaded) {
      watcher_.set_static_routes(std::move(reloaded->routes));
      reload_notes_ = std::move(reloaded->notes);
      for (const std::string& note : reload_notes_) log::warning("{}", note);
      log::info("settings file read again");
    } else {
      ++reloads_failed_;
      detail = reloaded.error().to_string();
      const std::string id =
          reloaded.error().id().empty() ? "" : " (" + std::string(reloaded.error().id()) + ")";
      reload_notes_.push_back("the settings are as they were: " + detail + id);
      log::error("{}", reload_notes_.back());
    }
    events_.publish("reload", reload_event(reloaded.has_value(), detail));
    refresh();
  }

  ManagedEdge& edge() override { return *edge_; }
  int claim_descriptor() const override { return claim_.lock_descriptor(); }

  void wait_for_stop() {
    std::unique_lock lock(mutex_);
    stop_wanted_.wait(lock, [this] { return is_stop_wanted_; });
  }

  void stop() {
    if (!thread_.joinable()) return engine_.shut_down();
    asio::post(io_, [this] { shut_down(); });
    thread_.join();
  }

  void refresh() override { publish(watcher_.load()); }
  router::RouteStore* store() override { return watcher_.store(); }
  bool is_static(std::string_view host) const override { return watcher_.is_static(host); }
  const router::RouteTable& table() const override { return *snapshot_.table; }
  std::vector<std::string> warnings() const override {
    std::vector<std::string> out = snapshot_.warnings;
    out.insert(out.end(), reload_notes_.begin(), reload_notes_.end());
    if (options_.more_warnings) {
      for (std::string& warning : options_.more_warnings(*snapshot_.table)) out.push_back(std::move(warning));
    }
    return out;
  }
  EdgeFacts facts() const override { return edge_->facts(); }
  EdgeMetrics metrics() const override { return edge_->metrics(); }
  ControlMetrics control_metrics() const override {
    ControlMetrics out;
    out.uptime = uptime();
    out.routes = snapshot_.table->size();
    if (options_.access_log != nullptr) out.access_log_dropped = options_.access_log->dropped();
    out.reloads = reloads_;
    out.reloads_failed = reloads_failed_;
    out.process = fetch_process_facts();
    return out;
  }
  std::chrono::seconds uptime() const override {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - started_);
  }
  std::string state_directory() const override { return options_.state_directory.string(); }

 private:
  void run() {
    tasks_.spawn(handle_signals());
    tasks_.spawn(watch_store());
    server_.start();
    io_.run();
  }

  Task<void> handle_signals() {
    while (!is_shut_down_) {
      auto [failure, number] =
          co_await await_asio<int>([this](auto done) { signals_.async_wait(std::move(done)); });
      if (failure) continue;
      if (number == SIGHUP)
        reload();
      else
        begin_drain();
    }
  }

  Task<void> watch_store() {
    while (!is_shut_down_) {
      watch_timer_.expires_after(options_.watch_interval);
      co_await await_asio([this](auto done) { watch_timer_.async_wait(std::move(done)); });
      if (is_shut_down_) co_return;
      if (auto changed = watcher_.load_if_changed()) publish(std::move(*changed));
    }
  }

  void tell_of_drain() {
    events_.publish("draining", "{}");
    const std::lock_guard lock(mutex_);
    is_stop_wanted_ = true;
    stop_wanted_.notify_all();
  }

  void publish(router::RouteSnapshot snapshot) {
    for (const std::string& warning : snapshot.warnings) {
      const auto& before = snapshot_.warnings;
      if (std::find(before.begin(), before.end(), warning) == before.end()) log::warning("{}", warning);
    }
    const router::RouteSnapshot before = std::exchange(snapshot_, std::move(snapshot));
    edge_->publish(snapshot_.table);
    if (!events_.has_listeners()) return;
    const std::string changes = describe_changes(*before.table, *snapshot_.table);
    if (!changes.empty()) events_.publish("routes", changes);
  }

  void shut_down() {
    is_shut_down_ = true;
    server_.shut_down();
    engine_.shut_down();
    watch_timer_.cancel();
    boost::system::error_code ignored;
    signals_.clear(ignored);
    signals_.cancel(ignored);
    work_.reset();
  }

  // Before everything else, so that it goes last: another edge may start only when this one has ended.
  EdgeClaim claim_;
  // So that it goes after what is below, which has operations in it.
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  ControlOptions options_;
  asio::signal_set signals_;
  asio::steady_timer watch_timer_;
  router::RouteWatcher watcher_;
  router::RouteSnapshot snapshot_{router::RouteTable::build({}), {}};
  std::vector<std::string> reload_notes_;
  std::uint64_t reloads_ = 0;
  std::uint64_t reloads_failed_ = 0;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  ManagedEdge* edge_ = nullptr;
  DockerEngine engine_;
  EventFeed events_;
  ControlServer server_;
  TaskGroup tasks_;
  bool is_draining_ = false;
  bool is_handing_over_ = false;
  // What came during a handover and waits for its end.
  bool is_drain_wanted_ = false;
  bool is_reload_wanted_ = false;
  bool is_shut_down_ = false;

  std::mutex mutex_;
  std::condition_variable stop_wanted_;
  bool is_stop_wanted_ = false;
  std::thread thread_;
};

Result<std::unique_ptr<ControlThread>> ControlThread::create(ControlOptions options) {
  auto claim = EdgeClaim::take(options.state_directory, options.control_socket);
  if (!claim) return claim.error();
  auto socket = ControlSocket::bind(options.control_socket);
  if (!socket) return socket.error();
  return create(std::move(options), std::move(*claim), std::move(*socket));
}

std::unique_ptr<ControlThread> ControlThread::create(ControlOptions options, EdgeClaim claim,
                                                     ControlSocket socket) {
  return std::unique_ptr<ControlThread>(
      new ControlThread(std::make_unique<Impl>(std::move(options), std::move(claim), std::move(socket))));
}

ControlThread::ControlThread(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlThread::~ControlThread() {
  stop();
}

UpstreamSource& ControlThread::docker() {
  return impl_->engine();
}
void ControlThread::prepare(ManagedEdge& edge, UpstreamEvents& events) {
  impl_->prepare(edge, events);
}
void ControlThread::start() {
  impl_->start();
}
void ControlThread::wait_for_stop() {
  impl_->wait_for_stop();
}
void ControlThread::own_socket() {
  asio::post(impl_->io(), [impl = impl_.get()] { impl->own_socket(); });
}
void ControlThread::request_stop() {
  asio::post(impl_->io(), [impl = impl_.get()] { impl->begin_drain(); });
}
void ControlThread::request_reload() {
  asio::post(impl_->io(), [impl = impl_.get()] { impl->reload(); });
}
void ControlThread::stop() {
  impl_->stop();
}

}  // namespace hedge::proxy
