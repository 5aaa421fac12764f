// Answers where docker: upstreams are now, and tells when that changes.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/task_group.h"
#include "proxy/control/container.h"
#include "proxy/control/docker_client.h"
#include "proxy/control/docker_event.h"
#include "proxy/upstream/upstream_source.h"

namespace hedge::proxy {

struct DockerEngineOptions {
  std::optional<std::string> docker_host;  // as in the settings or DOCKER_HOST; absent: the standard socket
  EngineTransport tcp = EngineTransport::plain;
  EdgePlace place;                         // own_networks is filled in by the engine if own_container is set
  std::optional<std::string> own_container;
  // Whether an engine at this address runs on the edge's own machine; place.remote_engine is filled in from it.
  std::function<bool(const std::string& ip)> is_own_address;
  // Below the worker's own second, so that the reason arrives before the worker gives up.
  std::chrono::milliseconds resolve_limit{900};
  std::chrono::milliseconds resolve_ttl{1000};
  std::chrono::milliseconds failure_ttl{250};
  // Between attempts to reach the event stream, doubling from the first to the last.
  std::chrono::milliseconds first_backoff{100};
  std::chrono::milliseconds last_backoff{5000};
};

// Everything but resolve() happens on the io_context's thread. The engine is not spoken to before the first
// resolve().
//
// While the event stream is up, every event makes the cached answers be asked for anew, and a container that
// ended drains the pools of its identities. While the engine cannot be asked, the last good answers stay
// usable; when the stream is back everything is asked for again, because what happened in between is unknown.
class DockerEngine final : public UpstreamSource {
 public:
  DockerEngine(boost::asio::io_context& io, DockerEngineOptions options);
  // Requires: shut_down() was called and the io_context was run until it had nothing left to do.
  ~DockerEngine() override;

  // Whom to tell of changes. Before the io_context runs. Lifetime: longer than the io_context runs.
  void tell(UpstreamEvents& events) { events_ = &events; }

  void resolve(const router::DockerUpstream& upstream, std::function<void(UpstreamAnswer)> reply) override;

  // Answers everybody who waits and lets the io_context run empty. Later resolve() calls are answered at
  // once.
  void shut_down();

  // True while events arrive: answers are as fresh as the engine.
  bool is_watching() const { return is_watching_; }

 private:
  using Reply = std::function<void(UpstreamAnswer)>;
  struct Entry {
    std::optional<UpstreamAnswer> answer;
    SteadyTime fresh_until{};
    ResolvedUpstreamPtr last_good;
    std::vector<Reply> waiting;  // not empty: a query is under way
  };
  class Backoff;

  void begin(const router::DockerUpstream& upstream, Reply reply);
  Task<void> query(std::string key, router::DockerUpstream upstream);
  Task<UpstreamAnswer> ask_until_settled(router::DockerUpstream upstream, SteadyTime deadline);
  Task<UpstreamAnswer> ask(router::DockerUpstream upstream, SteadyTime deadline);
  Task<std::optional<ProxyError>> find_own_networks(SteadyTime deadline);
  Task<EngineResult<std::string>> find_by_labels(std::string selector, SteadyTime deadline);
  Task<EngineResult<Container>> inspect(std::string id_or_name, SteadyTime deadline);
  void finish(const std::string& key, UpstreamAnswer answer);

  Task<void> watch();
  Task<void> watch_once();
  Task<void> follow(std::unique_ptr<DockerClient::Stream> stream);
  void stream_is_back();
  void apply(const DockerEvent& event);
  void forget_container(const std::string& id);
  void forget_answers();
  void forget_unused();

  boost::asio::io_context& io_;
  DockerEngineOptions options_;
  std::optional<ProxyError> unusable_;  // the address makes no sense: the answer to everything
  std::unique_ptr<DockerClient> client_;
  std::unique_ptr<Backoff> backoff_;
  UpstreamEvents* events_ = nullptr;
  TaskGroup tasks_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::set<std::string>, std::less<>> identities_;  // those handed out, by container id
  std::uint64_t generation_ = 0;  // counts events: a query that overlaps one is asked again
  bool knows_place_ = false;
  bool is_watch_started_ = false;
  bool was_watching_ = false;
  bool is_watching_ = false;
  bool was_loss_told_ = false;  // in the log, since the stream was last up
  std::mutex door_;  // orders resolve() on the workers before or after shut_down()
  bool is_shut_down_ = false;
};

}  // namespace hedge::proxy
