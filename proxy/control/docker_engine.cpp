#include "proxy/control/docker_engine.h"

#include <algorithm>
#include <exception>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/text.h"
#include "proxy/control/asio_await.h"
#include "proxy/control/percent_encoding.h"

namespace hedge::proxy {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMostEntries = 4096;
constexpr std::size_t kShortestIdPrefix = 12;
// No event for so long says nothing; a new stream costs one request and bounds the wait.
constexpr std::chrono::milliseconds kStreamRenewal = 10min;
// A stream that ends sooner was no success: the back-off goes on.
constexpr std::chrono::milliseconds kSteadyStream = 1s;

SteadyTime now() {
  return std::chrono::steady_clock::now();
}

bool is_engine_failure(const UpstreamAnswer& answer) {
  const auto* error = std::get_if<ProxyError>(&answer);
  if (error == nullptr) return false;
  switch (error->reason) {
    case ProxyReason::engine_not_running:
    case ProxyReason::engine_not_installed:
    case ProxyReason::engine_permission:
    case ProxyReason::engine_unresponsive:
    case ProxyReason::engine_unsupported:
      return true;
    default:
      return false;
  }
}

// The engine's {"message": "…"}.
std::string message_of(const EngineReply& reply) {
  const auto body = nlohmann::json::parse(reply.body, nullptr, false);
  const auto found = body.is_object() ? body.find("message") : body.end();
  const bool has_message = found != body.end() && found->is_string();
  return "status " + std::to_string(reply.status) +
         (has_message ? ": " + printable(found->get<std::string>()) : "");
}

ProxyError refused(const EngineReply& reply) {
  return {ProxyReason::engine_unresponsive, "the Docker engine failed with " + message_of(reply), ""};
}

ProxyError not_understood() {
  return {ProxyReason::engine_unresponsive, "the Docker engine's answer is not understood", ""};
}

std::string label_filter(std::string_view selector) {
  nlohmann::json labels = nlohmann::json::array();
  for (const std::string_view label : split(selector, ',')) labels.push_back(std::string(label));
  const nlohmann::json filters = {{"label", std::move(labels)}};
  // Bytes that are no text are in no label; a route cannot have them.
  return percent_encode(filters.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

// The pause between two attempts to open the event stream.
class DockerEngine::Backoff {
 public:
  Backoff(asio::io_context& io, std::chrono::milliseconds first, std::chrono::milliseconds last)
      : timer_(io), first_(first), last_(last), next_(first) {}

  void reset() { next_ = first_; }
  Task<void> pause() {
    timer_.expires_after(next_);
    next_ = std::min(next_ * 2, last_);
    co_await await_asio([this](auto done) { timer_.async_wait(std::move(done)); });
  }
  void cancel() { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
  std::chrono::milliseconds first_;
  std::chrono::milliseconds last_;
  std::chrono::milliseconds next_;
};

DockerEngine::DockerEngine(asio::io_context& io, DockerEngineOptions options)
    : io_(io), options_(std::move(options)), knows_place_(!options_.own_container) {
  auto address = parse_engine_address(options_.docker_host, options_.tcp);
  if (!address) {
    const auto& hints = address.error().hints();
    unusable_ = ProxyError{ProxyReason::engine_unsupported, address.error().text(),
                           hints.empty() ? "" : hints.front()};
    return;
  }
  if (!address->ip.empty() && !options_.is_own_address(address->ip))
    options_.place.remote_engine = address->ip;
  client_ = std::make_unique<DockerClient>(io_, std::move(*address));
  backoff_ = std::make_unique<Backoff>(io_, options_.first_backoff, options_.last_backoff);
}

DockerEngine::~DockerEngine() = default;

void DockerEngine::resolve(const router::DockerUpstream& upstream, Reply reply) {
  const std::lock_guard lock(door_);
  if (is_shut_down_) return reply(ProxyError{ProxyReason::shutting_down, "the edge is stopping", ""});
  asio::post(io_,
             [this, upstream, reply = std::move(reply)]() mutable { begin(upstream, std::move(reply)); });
}

void DockerEngine::begin(const router::DockerUpstream& upstream, Reply reply) {
  if (unusable_) return reply(*unusable_);
  if (!is_watch_started_) {
    is_watch_started_ = true;
    tasks_.spawn(watch());
  }
  forget_unused();
  std::string key = to_string(router::Upstream(upstream));
  Entry& entry = entries_[key];
  if (entry.answer && now() < entry.fresh_until) return reply(*entry.answer);
  entry.waiting.push_back(std::move(reply));
  if (entry.waiting.size() == 1) tasks_.spawn(query(std::move(key), upstream));
}

Task<void> DockerEngine::query(std::string key, router::DockerUpstream upstream) {
  // Whatever happens, those who wait get an answer: without one the entry would never be asked for again.
  UpstreamAnswer answer;
  try {
    answer = co_await ask_until_settled(std::move(upstream), now() + options_.resolve_limit);
  } catch (const std::exception& bug) {
    log::error("bug: docker: asking for {} failed: {}", key, bug.what());
    answer = ProxyError{ProxyReason::engine_unresponsive,
                        std::string("asking the Docker engine failed: ") + printable(bug.what()), ""};
  }
  finish(key, std::move(answer));
}

Task<UpstreamAnswer> DockerEngine::ask_until_settled(router::DockerUpstream upstream, SteadyTime deadline) {
  // Something ended or moved while the engine was asked: its address may already be another container's.
  // Events that never pause meet the deadline, after which asking fails.
  std::uint64_t before = generation_;
  UpstreamAnswer answer = co_await ask(upstream, deadline);
  while (before != generation_ && !is_engine_failure(answer)) {
    before = generation_;
    answer = co_await ask(upstream, deadline);
  }
  co_return answer;
}

Task<UpstreamAnswer> DockerEngine::ask(router::DockerUpstream upstream, SteadyTime deadline) {
  auto lost = co_await find_own_networks(deadline);
  if (lost) co_return UpstreamAnswer(std::move(*lost));
  std::string wanted = upstream.selector;
  if (wanted.find('=') != std::string::npos) {
    auto found = co_await find_by_labels(wanted, deadline);
    if (auto* failure = std::get_if<ProxyError>(&found)) co_return UpstreamAnswer(std::move(*failure));
    wanted = std::get<std::string>(std::move(found));
  }
  auto container = co_await inspect(std::move(wanted), deadline);
  if (auto* failure = std::get_if<ProxyError>(&container)) co_return UpstreamAnswer(std::move(*failure));
  co_return choose_address(std::get<Container>(container), upstream.port, options_.place);
}

Task<std::optional<ProxyError>> DockerEngine::find_own_networks(SteadyTime deadline) {
  if (knows_place_ || options_.place.configured_network) co_return std::nullopt;
  auto own = co_await inspect(*options_.own_container, deadline);
  if (auto* failure = std::get_if<ProxyError>(&own)) {
    // Another engine's container: reach its containers as a host would.
    if (failure->reason != ProxyReason::upstream_unresolved) co_return std::move(*failure);
    options_.place.own_networks.reset();
  } else {
    std::vector<std::string> ids;
    for (const ContainerNetwork& network : std::get<Container>(own).networks) ids.push_back(network.id);
    options_.place.own_networks = std::move(ids);
  }
  knows_place_ = true;
  co_return std::nullopt;
}

Task<EngineResult<std::string>> DockerEngine::find_by_labels(std::string selector, SteadyTime deadline) {
  auto reply = co_await client_->get("/containers/json?all=1&filters=" + label_filter(selector), deadline);
  if (auto* failure = std::get_if<ProxyError>(&reply)) co_return std::move(*failure);
  const auto& answer = std::get<EngineReply>(reply);
  if (answer.status != 200) co_return refused(answer);
  const auto list = parse_container_list(answer.body);
  if (!list) co_return not_understood();
  auto chosen = choose_container(*list, selector);
  if (auto* failure = std::get_if<ProxyError>(&chosen)) co_return std::move(*failure);
  co_return std::get<ContainerSummary>(std::move(chosen)).id;
}

Task<EngineResult<Container>> DockerEngine::inspect(std::string id_or_name, SteadyTime deadline) {
  auto reply = co_await client_->get("/containers/" + percent_encode(id_or_name) + "/json", deadline);
  if (auto* failure = std::get_if<ProxyError>(&reply)) co_return std::move(*failure);
  const auto& answer = std::get<EngineReply>(reply);
  ProxyError unknown{ProxyReason::upstream_unresolved, "there is no container " + printable(id_or_name),
                     "docker ps --all"};
  if (answer.status == 404) co_return unknown;
  if (answer.status != 200) co_return refused(answer);
  auto container = parse_container(answer.body);
  if (!container) co_return not_understood();
  // The engine also takes any beginning of an id: the name "cafe" must not become a stranger's cafe12….
  const bool is_id = id_or_name.size() >= kShortestIdPrefix && container->id.starts_with(id_or_name);
  if (container->name != id_or_name && !is_id) co_return unknown;
  co_return std::move(*container);
}

void DockerEngine::finish(const std::string& key, UpstreamAnswer answer) {
  Entry& entry = entries_[key];
  const bool is_failure = std::holds_alternative<ProxyError>(answer);
  // An engine that answers again has events again, too.
  if (!is_engine_failure(answer) && !is_watching_) backoff_->cancel();
  if (is_engine_failure(answer) && entry.last_good != nullptr) {
    answer = entry.last_good;
  } else if (is_failure) {
    entry.last_good.reset();
  } else {
    entry.last_good = std::get<ResolvedUpstreamPtr>(answer);
    const std::string& identity = entry.last_good->identity;
    identities_[identity.substr(0, identity.rfind(':'))].insert(identity);
  }
  entry.fresh_until = now() + (is_failure ? options_.failure_ttl : options_.resolve_ttl);
  entry.answer = answer;
  // A reply may ask again at once.
  const std::vector<Reply> waiting = std::exchange(entry.waiting, {});
  for (const Reply& reply : waiting) reply(answer);
}

Task<void> DockerEngine::watch() {
  while (!is_shut_down_) {
    // A bug in handling one event must not leave the edge deaf to all that follow.
    try {
      co_await watch_once();
    } catch (const std::exception& bug) {
      log::error("bug: docker: the engine's events cannot be followed: {}; trying again", bug.what());
    }
    is_watching_ = false;
    if (!is_shut_down_) co_await backoff_->pause();
  }
}

Task<void> DockerEngine::watch_once() {
  auto opened = co_await client_->open(docker_events_path(), now() + options_.resolve_limit);
  if (auto* stream = std::get_if<std::unique_ptr<DockerClient::Stream>>(&opened)) {
    was_loss_told_ = false;
    const SteadyTime began = now();
    stream_is_back();
    co_await follow(std::move(*stream));
    if (now() - began >= kSteadyStream) backoff_->reset();
  } else if (!is_shut_down_ && !std::exchange(was_loss_told_, true)) {
    log::warning("docker: {}; trying again", std::get<ProxyError>(opened).detail);
  }
}

Task<void> DockerEngine::follow(std::unique_ptr<DockerClient::Stream> stream) {
  LineSplitter lines;
  while (!is_shut_down_) {
    auto bytes = co_await stream->read(kStreamRenewal);
    const auto* block = std::get_if<std::string>(&bytes);
    if (block == nullptr || block->empty() || !lines.add(*block)) co_return;
    while (const auto line = lines.next()) {
      if (const auto event = parse_docker_event(*line)) apply(*event);
    }
  }
}

void DockerEngine::stream_is_back() {
  is_watching_ = true;
  forget_answers();
  for (auto& [key, entry] : entries_) entry.last_good.reset();
  // What ended while nobody listened is not known: no idle connection from before is used again.
  if (std::exchange(was_watching_, true)) {
    const auto known = std::exchange(identities_, {});
    for (const auto& [container, identities] : known) {
      for (const std::string& identity : identities) events_->identity_gone(identity);
    }
  }
  events_->docker_answers_changed();
}

void DockerEngine::apply(const DockerEvent& event) {
  if (event.change == DockerChange::ended) forget_container(event.container_id);
  // The edge's own container may have joined or left a network.
  if (options_.own_container && event.container_id == *options_.own_container) knows_place_ = false;
  forget_answers();
  events_->docker_answers_changed();
}

void DockerEngine::forget_container(const std::string& id) {
  for (auto& [key, entry] : entries_) {
    if (entry.last_good != nullptr && entry.last_good->identity.starts_with(id)) entry.last_good.reset();
  }
  const auto known = identities_.find(id);
  if (known == identities_.end()) return;
  for (const std::string& identity : known->second) events_->identity_gone(identity);
  identities_.erase(known);
}

void DockerEngine::forget_answers() {
  ++generation_;
  for (auto& [key, entry] : entries_) entry.answer.reset();
}

// Routes come and go for months; what nobody has asked for lately need not be remembered.
void DockerEngine::forget_unused() {
  if (entries_.size() < kMostEntries) return;
  std::erase_if(entries_, [](const auto& item) { return item.second.waiting.empty(); });
}

void DockerEngine::shut_down() {
  {
    const std::lock_guard lock(door_);
    is_shut_down_ = true;
  }
  if (client_ != nullptr) client_->shut_down();
  if (backoff_ != nullptr) backoff_->cancel();
}

}  // namespace hedge::proxy
