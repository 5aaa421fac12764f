#include "proxy/upstream/connector.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "base/task_group.h"
#include "proxy/stream/signal.h"

namespace hedge::proxy {
namespace {

void give_up(void* stream) {
  static_cast<SocketStream*>(stream)->waiters().interrupt(IoStatus::timed_out);
}

int errno_of(const IoResult& result) {
  return result.status == IoStatus::timed_out ? ETIMEDOUT : result.error;
}

}  // namespace

ProxyError connect_error(int number, const ResolvedUpstream& upstream) {
  const std::string& who = upstream.description;
  switch (number) {
    case ECONNREFUSED:
      return {ProxyReason::upstream_refused, who + " refuses connections: nothing listens there",
              "start the app, or make it listen on 0.0.0.0 and not on 127.0.0.1 inside its container"};
    case ENOENT:
      return {ProxyReason::upstream_refused, "there is no socket at " + who,
              "start the app that makes the socket"};
    case EAGAIN:  // a unix socket whose queue is full
      return {ProxyReason::upstream_refused, who + " does not accept connections: its queue is full",
              "see what keeps the app busy"};
    case EACCES:
    case EPERM:
      return {ProxyReason::upstream_unreachable, "the edge may not connect to " + who,
              "allow it to (socket permissions or firewall)"};
    case ETIMEDOUT:
      return {ProxyReason::upstream_timeout, who + " does not answer within the connect limit",
              "check that the container is on the edge's network and that no firewall drops the packets"};
    case EMFILE:
    case ENFILE:
      return {ProxyReason::overloaded, "the edge has no descriptors left", "raise the limit: `ulimit -n`"};
    default:
      return {ProxyReason::upstream_unreachable,
              who + " cannot be reached: " + std::generic_category().message(number),
              "check that the upstream is on a network that the edge has a route to"};
  }
}

struct Connector::Race {
  explicit Race(Reactor& reactor) : changed(reactor) {}
  static void on_limit(void* self) {
    auto& race = *static_cast<Race*>(self);
    race.late = true;
    race.changed.notify_all();
  }
  std::unique_ptr<SocketStream> winner;
  std::vector<SocketStream*> running;
  int error = 0;  // the last failure's
  bool late = false;
  Signal changed;
};

Task<ConnectResult> Connector::connect(const ResolvedUpstream& upstream) {
  stats_.upstream_connects.add();
  if (upstream.endpoints.size() == 1) co_return co_await connect_one(upstream);

  Race race(reactor_);
  TaskGroup attempts;
  std::size_t next = 0;
  // Exact to the millisecond: the reactor's time may be a turn old.
  Timer limit(reactor_, &race, &Race::on_limit);
  limit.start(settings_.limits.connect);
  while (race.winner == nullptr && !race.late) {
    if (next < upstream.endpoints.size()) {
      attempts.spawn(attempt(race, upstream.endpoints[next++]));
      if (race.winner != nullptr || (race.running.empty() && next < upstream.endpoints.size())) continue;
    }
    if (race.running.empty()) break;
    const bool more = next < upstream.endpoints.size();
    const bool changed =
        co_await race.changed.wait(more ? settings_.limits.connect_stagger : settings_.limits.connect);
    // A failure starts the next address at once, a silent one after the stagger.
    if (!changed && !more) break;
  }
  for (SocketStream* loser : race.running) loser->cancel();
  co_await attempts.join();
  if (race.winner != nullptr) co_return std::move(race.winner);
  co_return connect_error(race.late || race.error == 0 ? ETIMEDOUT : race.error, upstream);
}

Task<ConnectResult> Connector::connect_one(const ResolvedUpstream& upstream) {
  const Endpoint& endpoint = upstream.endpoints.front();
  ConnectStart started = SocketStream::connecting(reactor_, endpoint.address(), endpoint.length());
  if (started.stream == nullptr) co_return connect_error(started.error, upstream);
  IoResult result;
  {
    Timer limit(reactor_, started.stream.get(), &give_up);
    limit.start(settings_.limits.connect);
    result = co_await started.stream->connected();
  }
  if (!result.ok()) co_return connect_error(errno_of(result), upstream);
  co_return std::move(started.stream);
}

Task<void> Connector::attempt(Race& race, const Endpoint& endpoint) {
  ConnectStart started = SocketStream::connecting(reactor_, endpoint.address(), endpoint.length());
  if (started.stream == nullptr) {
    race.error = started.error;
    co_return;
  }
  SocketStream* stream = started.stream.get();
  race.running.push_back(stream);
  const IoResult result = co_await stream->connected();
  std::erase(race.running, stream);
  if (result.ok() && race.winner == nullptr) {
    race.winner = std::move(started.stream);
  } else if (result.status == IoStatus::failed) {
    race.error = result.error;
  }
  started.stream.reset();
  race.changed.notify_all();
}

}  // namespace hedge::proxy
