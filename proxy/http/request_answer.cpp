#include "proxy/http/request_answer.h"

#include <utility>

#include "proxy/error_answer.h"
#include "proxy/forwarder.h"
#include "proxy/metrics/metered_request.h"
#include "router/host_pattern.h"

namespace hedge::proxy::http {

Task<void> answer_request(Exchange& exchange, RequestState& state, const AnswerContext& context) {
  const RequestHead& request = state.request;
  state.record.method = request.method;
  state.record.target = request.target;
  state.record.scheme = exchange.peer().tls ? "https" : "http";
  state.record.peer = exchange.peer().peer_ip;
  if (context.wants_https && request.upgrade.empty()) {
    const auto authority = router::parse_authority(request.authority);
    if (authority) {
      state.record.host = authority->host;
      // These bytes came in where TLS is spoken: the port that led the client here, which may be published under
      // another number than the one that is listened on.
      const std::uint16_t port = authority->port.value_or(exchange.peer().local_port);
      static_cast<void>(co_await answer_with_https_redirect(exchange, state, authority->host, port));
      count_unrouted(context.worker.traffic(), state.record, context.start);
      co_return;
    }
  }
  const ForwardContext forwarding{context.worker, state, context.parts.trusted};
  co_await forward(exchange, forwarding);
}

Task<void> answer_malformed(Exchange& exchange, RequestState& state, ProxyError error,
                            const AnswerContext& context) {
  // What could be parsed of it must not steer the answer: no body is expected, and HEAD is not trusted.
  state.request.clear();
  state.record.scheme = exchange.peer().tls ? "https" : "http";
  state.record.peer = exchange.peer().peer_ip;
  ErrorReport report;
  report.error = std::move(error);
  report.request_id = {state.fresh_request_id.data(), state.fresh_request_id.size()};
  static_cast<void>(co_await answer_with_error(exchange, state, report));
  count_unrouted(context.worker.traffic(), state.record, context.start);
}

void log_request(RequestState& state, const ServerParts& parts, std::chrono::steady_clock::time_point start) {
  if (parts.access_log == nullptr) return;
  state.record.total =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  parts.access_log->write(parts.http.lines.format(state.record));
}

}  // namespace hedge::proxy::http
