// The part of forward() for requests that ask for another protocol.
#include <utility>

#include "base/text.h"
#include "proxy/forwarding.h"
#include "proxy/response_headers.h"
#include "proxy/upgrade_tunnel.h"

namespace hedge::proxy {
namespace {

// h2c is offered by nobody who needs it here, and a proxy must not pass it on by accident (RFC 9113,
// section 3.1).
bool wants_h2c(const http::RequestHead& request) {
  bool found = false;
  http::for_each_list_element(request.upgrade, [&found](std::string_view protocol) {
    found = found || equals_ignoring_case(protocol, "h2c");
  });
  return found;
}

// A length of zero is what some clients send with everything.
bool has_body(const http::RequestHead& request) {
  return request.body.framing == http::Framing::chunked || request.body.length > 0;
}

// Counts an open tunnel for as long as it lives.
class OpenTunnel {
 public:
  explicit OpenTunnel(Counter& counter) : counter_(counter) { counter_.add(); }
  ~OpenTunnel() { counter_.subtract(); }
  OpenTunnel(const OpenTunnel&) = delete;
  OpenTunnel& operator=(const OpenTunnel&) = delete;

 private:
  Counter& counter_;
};

}  // namespace

bool Forwarding::ignores_upgrade() const {
  const http::RequestHead& request = exchange_.request();
  // Only a request without a body is upgraded; a server may ignore the wish (RFC 9110, section 7.8).
  if (has_body(request) || wants_h2c(request)) return true;
  // HTTP/2 knows no other way to switch; that one is refused with a reason, because nobody asks for a
  // WebSocket and is content with a page.
  return route_->protocol == router::Protocol::h2c && !equals_ignoring_case(request.upgrade, "websocket");
}

Task<void> Forwarding::run_upgrade() {
  ++attempts_;
  upload_complete_ = true;
  Failure failure;
  if (route_->protocol == router::Protocol::h2c) {
    failure = ProxyError{ProxyReason::upstream_unsupported,
                         "an upgrade to " + printable(exchange_.request().upgrade, 50) +
                             " cannot be passed to an h2c upstream",
                         "serve it on a host of its own, with a route of the protocol http1"};
  } else {
    // A connection of its own, so that it need not come from the pool and never goes to it.
    failure = co_await open(LeaseKind::fresh);
  }
  if (failure) {
    co_await answer(std::move(*failure));
    co_return;
  }
  const std::vector<http::Field> no_trailers;
  http::BodyChunk nothing;
  nothing.last = true;
  const IoResult sent =
      co_await call_->send_head(exchange_.request(), http::ConnectionHeader::upgrade, nothing, no_trailers);
  if (sent.status == IoStatus::cancelled) {
    failure = ProxyError{ProxyReason::client_gone, "the client went away", {}};
  } else {
    failure = co_await read_final_head();
  }
  if (!failure && state_.response.status == 101) failure = exchange_.check_upgrade(state_.response);
  if (failure) {
    co_await answer(std::move(*failure));
  } else if (state_.response.status == 101) {
    co_await tunnel();
  } else {
    co_await relay_response();
  }
  drop_upstream();
}

Task<void> Forwarding::tunnel() {
  state_.record.first_byte =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start_);
  const ResponseRules rules{route_->host, worker_.settings().narrow_cookies};
  prepare_response_fields(state_.response, rules, state_.texts);
  const http::UpgradedClient client = co_await exchange_.upgrade(state_.response);
  exchange_.set_upstream(nullptr);
  if (client.stream == nullptr) {
    state_.record.error_id = facts(ProxyReason::client_gone).id;
    co_return;
  }
  meter_.tunnel_opened();
  const OpenTunnel open(worker_.mutable_stats().tunnels_open);
  state_.forget_heads();
  TunnelEnd client_end{client.stream, client.early, [this] { exchange_.drop_received(); }};
  TunnelEnd upstream_end{&call_->stream(), call_->leftover(), [this] { call_->drop_leftover(); }};
  const TunnelResult moved =
      co_await run_tunnel(std::move(client_end), std::move(upstream_end), worker_.buffers());
  state_.record.bytes_in = moved.from_client;
  state_.record.bytes_out = moved.from_upstream;
}

}  // namespace hedge::proxy
