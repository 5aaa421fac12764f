#include "proxy/http/http1_server.h"

#include <utility>

#include "proxy/http/http1_codec.h"
#include "proxy/http2/http2_server.h"

namespace hedge::proxy::http {
namespace {

Task<bool> serve_what_came(EdgeWorker& worker, DownstreamConnection& connection, const ServerParts& parts,
                           bool is_first) {
  Http1Server server(worker, connection, parts);
  if (is_first) server.look_for_preface();
  const bool goes_on = co_await server.serve_burst();
  if (server.wants_http2()) co_await serve_http2(worker, connection, parts, server.received());
  co_return goes_on;
}

}  // namespace

Task<void> serve_http1(EdgeWorker& worker, DownstreamConnection& connection, ServerParts parts) {
  for (bool is_first = true;; is_first = false) {
    connection.begin_idle();
    const IoResult waited = co_await connection.stream().readable();
    if (!waited.ok()) co_return;
    const bool goes_on = co_await serve_what_came(worker, connection, parts, is_first);
    if (!goes_on) co_return;
  }
}

Http1Server::Http1Server(EdgeWorker& worker, DownstreamConnection& connection, const ServerParts& parts)
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
  if (head == HeadState::http2) {
    wants_http2_ = true;
    co_return false;
  }
  connection_.end_request_head();
  worker_.mutable_stats().requests.add();
  state->record.start = std::chrono::system_clock::now();
  const Http1Connection parts{connection_.stream(), input_, worker_};
  Http1Exchange exchange(parts, *state);
  const AnswerContext context{worker_, parts_, start, connection_.wants_https()};
  if (head == HeadState::malformed) {
    exchange.close_afterwards();
    co_await answer_malformed(exchange, *state, std::move(error), context);
  } else {
    co_await answer_request(exchange, *state, context);
  }
  log_request(*state, parts_, start);
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
  // The preface was made to look like a request that no HTTP/1 client sends. Over TLS it would have been
  // agreed on before.
  if (std::exchange(looks_for_preface_, false) && !connection_.stream().identity().tls &&
      kHttp2Preface.starts_with(input_.text().substr(0, head_bytes)))
    return HeadState::http2;
  auto wrong = parse_request_head(input_.text().substr(0, head_bytes), state.request);
  input_.consume(head_bytes);
  if (!wrong) return HeadState::complete;
  error = std::move(*wrong);
  return HeadState::malformed;
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

}  // namespace hedge::proxy::http
