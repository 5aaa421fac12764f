#include "proxy/http2/http2_server.h"

#include <algorithm>
#include <utility>

namespace hedge::proxy::http {

Http2Server::Http2Server(EdgeWorker& worker, DownstreamConnection& connection, const ServerParts& parts)
    : worker_(worker),
      downstream_(connection),
      parts_(parts),
      connection_(Http2Role::server, connection.stream(), worker.reactor(), worker.buffers(), *this),
      shutdown_timer_(worker.reactor(), this, &shutdown_is_late) {
  downstream_.watch_drain(this);
}

Http2Server::~Http2Server() {
  downstream_.watch_drain(nullptr);
}

Task<void> Http2Server::run(std::string_view early) {
  if (worker_.draining()) drain_began();
  co_await connection_.run(early);
  shutdown_timer_.stop();
  arriving_.clear();
  co_await requests_.join();
  co_await connection_.finish();
}

Http2StreamEvents* Http2Server::stream_began(std::int32_t id) {
  arriving_.push_back(std::make_unique<Http2Exchange>(connection_, id, parts_.http.states.lease()));
  // A limit holds for one head and for one silence, also where nothing else lies between two of them.
  due_ = Due::unknown;
  return &arriving_.back()->stream().events();
}

void Http2Server::received() {
  // Moved out first: a request that is answered at once may not, but another callback could, add to the list.
  std::vector<std::unique_ptr<Http2Exchange>> arrived = std::exchange(arriving_, {});
  for (std::unique_ptr<Http2Exchange>& exchange : arrived) {
    // Reset before it was looked at: nobody waits for it.
    if (exchange->stream().is_broken()) continue;
    if (!exchange->head_complete()) {
      arriving_.push_back(std::move(exchange));
    } else if (exchange->is_malformed()) {
      exchange->stream().reset_with(Http2Error::protocol_error);
    } else {
      requests_.spawn(serve(std::move(exchange)));
    }
  }
  if (shutdown_acknowledged_) finish_shutdown();
}

Task<void> Http2Server::serve(std::unique_ptr<Http2Exchange> exchange) {
  const auto start = std::chrono::steady_clock::now();
  RequestState& state = exchange->state();
  state.record.start = std::chrono::system_clock::now();
  worker_.mutable_stats().requests.add();
  std::optional<ProxyError> wrong = exchange->take_head_error();
  const AnswerContext context{worker_, parts_, start, downstream_.wants_https()};
  if (wrong) {
    co_await answer_malformed(*exchange, state, std::move(*wrong), context);
  } else {
    co_await answer_request(*exchange, state, context);
  }
  exchange->finish();
  log_request(state, parts_, start);
}

void Http2Server::about_to_wait() {
  const Http2Session& session = connection_.session();
  const bool silent = connection_.open_streams() == 0;
  Due due = Due::nothing;
  if (session.is_within_head() || (silent && session.is_within_frame())) {
    due = Due::rest_of_head;
  } else if (silent) {
    due = Due::next_request;
  }
  if (due == due_) return;
  due_ = due;
  const EdgeLimits& limits = worker_.settings().limits;
  switch (due) {
    case Due::unknown:
    case Due::nothing:
      return connection_.transport().clear_deadline();
    case Due::next_request:
      return connection_.transport().set_deadline(limits.idle_keep_alive);
    case Due::rest_of_head:
      return connection_.transport().set_deadline(limits.request_head);
  }
}

// RFC 9113, section 6.8: first a notice, so that no request that is under way is refused; then, when all of
// those have come, the last stream's number.
void Http2Server::drain_began() {
  connection_.session().begin_shutdown();
  connection_.schedule();
  shutdown_timer_.start(kShutdownLimit);
}

void Http2Server::shutdown_is_late(void* self) {
  static_cast<Http2Server*>(self)->finish_shutdown();
}

void Http2Server::finish_shutdown() {
  if (std::exchange(shutdown_finished_, true)) return;
  shutdown_timer_.stop();
  connection_.session().finish_shutdown();
  connection_.schedule();
}

Task<void> serve_http2(EdgeWorker& worker, DownstreamConnection& connection, ServerParts parts,
                       std::string_view received) {
  Http2Server server(worker, connection, parts);
  co_await server.run(received);
}

}  // namespace hedge::proxy::http
