#include "proxy/http/http1_server.h"

#include <utility>

#include "proxy/error_answer.h"
#include "proxy/forwarder.h"
#include "proxy/http/http1_codec.h"
#include "proxy/metrics/metered_request.h"
#include "router/host_pattern.h"

namespace hedge::proxy::http {
namespace {

Task<bool> serve_what_came(EdgeWorker& worker, DownstreamConnection& connection,
                           const Http1ServerParts& parts) {
  Http1Server server(worker, connection, parts);
  co_return co_await server.serve_burst();
}

}  // namespace

Task<void> serve_http1(EdgeWorker& worker, DownstreamConnection& connection, Http1ServerParts parts) {
  for (;;) {
    connection.begin_idle();
    const IoResult waited = co_await connection.stream().readable();
    if (!waited.ok()) co_return;
    const bool goes_on = co_await serve_what_came(worker, connection, parts);
    if (!goes_on) co_return;
  }
}

Http1Server::Http1Server(EdgeWorker& worker, DownstreamConnection& connection, const Http1ServerParts& parts)
    : worker_(worker), connection_(connection), parts_(parts), input_(worker.buffers()) {}

Task<bool> Http1Server::serve_burst() {
  do {
    connection_.begin_request_head();
    const bool goes_on = co_await serve_one();
    if (!goes_on) co_return false;
    input_.begin_message();
  } while (!input_.empty());
  co_return true;
}

Task<bool> Http1Server::serve_one() {
  const auto start = std::chrono::steady_clock::now();
  const RequestStates::Lease state = parts_.http.states.lease();
  ProxyError error;
  const HeadState head = co_await read_head(*state, error);
  if (head == HeadState::closed) co_return false;
  connection_.end_request_head();
  worker_.mutable_stats().requests.add();
  state->record.start = std::chrono::system_clock::now();
  const Http1Connection parts{connection_.stream(), input_, worker_};
  Http1Exchange exchange(parts, *state);
  if (head == HeadState::malformed) {
    exchange.close_afterwards();
    co_await answer_malformed(exchange, *state, std::move(error));
    count_unrouted(worker_.traffic(), state->record, start);
  } else {
    co_await answer(exchange, *state);
  }
  log(*state, start);
  if (exchange.reusable()) co_return true;
  if (exchange.wants_reset()) {
    connection_.stream().reset();
  } else if (exchange.wants_linger()) {
    co_await linger(exchange);
  }
  co_return false;
}

Task<Http1Server::HeadState> Http1Server::read_head(RequestState& state, ProxyError& error) {
  scanner_.reset();
  for (;;) {
    if (!scanner_.in_fields()) {
      const std::size_t empty_lines = count_leading_empty_lines(input_.text());
      if (empty_lines > 0) {
        input_.consume(empty_lines);
        scanner_.reset();
      }
    }
    switch (scanner_.scan(input_.text())) {
      case HeadScanner::State::complete:
        co_return parse_head(state, error);
      case HeadScanner::State::failed:
        error = scanner_.error();
        co_return HeadState::malformed;
      case HeadScanner::State::need_more:
        break;
    }
    if (!input_.make_space()) {
      error = ProxyError{ProxyReason::headers_too_large, "the header is larger than 64 KiB", {}};
      co_return HeadState::malformed;
    }
    const IoResult got = co_await connection_.stream().read_some(input_.space());
    // A client that ends or dawdles within a head gets no answer: it would not be the answer to anything.
    if (!got.ok()) co_return HeadState::closed;
    input_.received(got.bytes);
  }
}

Http1Server::HeadState Http1Server::parse_head(RequestState& state, ProxyError& error) {
  const std::size_t head_bytes = scanner_.head_bytes();
  auto wrong = parse_request_head(input_.text().substr(0, head_bytes), state.request);
  input_.consume(head_bytes);
  if (!wrong) return HeadState::complete;
  error = std::move(*wrong);
  return HeadState::malformed;
}

Task<void> Http1Server::answer(Http1Exchange& exchange, RequestState& state) {
  const RequestHead& request = state.request;
  state.record.method = request.method;
  state.record.target = request.target;
  state.record.scheme = exchange.peer().tls ? "https" : "http";
  state.record.peer = exchange.peer().peer_ip;
  if (connection_.wants_https() && request.upgrade.empty() && worker_.settings().https_port != 0) {
    const auto authority = router::parse_authority(request.authority);
    if (authority) {
      state.record.host = authority->host;
      static_cast<void>(co_await answer_with_https_redirect(exchange, state, authority->host,
                                                            worker_.settings().https_port));
      count_unrouted(worker_.traffic(), state.record, std::chrono::steady_clock::now());
      co_return;
    }
  }
  const ForwardContext context{worker_, state, parts_.trusted};
  co_await forward(exchange, context);
}

Task<void> Http1Server::answer_malformed(Http1Exchange& exchange, RequestState& state, ProxyError error) {
  // What could be parsed of it must not steer the answer: no body is expected, and HEAD is not trusted.
  state.request.clear();
  state.record.scheme = exchange.peer().tls ? "https" : "http";
  state.record.peer = exchange.peer().peer_ip;
  ErrorReport report;
  report.error = std::move(error);
  report.request_id = {state.fresh_request_id.data(), state.fresh_request_id.size()};
  static_cast<void>(co_await answer_with_error(exchange, state, report));
}

// Reads what the client still sends, so that its system does not throw the answer away with a RST (RFC 9112,
// section 9.6).
Task<void> Http1Server::linger(Http1Exchange& exchange) {
  exchange.finish_early();
  const Block block = worker_.buffers().lease_head();
  for (;;) {
    const IoResult got = co_await connection_.stream().read_some(block.bytes());
    if (!got.ok()) co_return;
  }
}

void Http1Server::log(RequestState& state, std::chrono::steady_clock::time_point start) {
  if (parts_.access_log == nullptr) return;
  state.record.total =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  parts_.access_log->write(parts_.http.lines.format(state.record));
}

}  // namespace hedge::proxy::http
