// The part of forward() for requests that ask for another protocol.
#include <utility>

#include "proxy/forwarding.h"
#include "proxy/response_headers.h"
#include "proxy/upgrade_tunnel.h"

namespace hedge::proxy {
namespace {

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

Task<void> Forwarding::run_upgrade() {
  ++attempts_;
  upload_complete_ = true;
  // A connection of its own, so that it need not come from the pool and never goes to it.
  Failure failure = co_await lease(LeaseKind::fresh);
  if (failure) {
    co_await answer(std::move(*failure));
    co_return;
  }
  client_.emplace(lease_.stream(), worker_.buffers());
  exchange_.set_upstream(&lease_.stream());
  std::string& text = state_.upstream_text;
  http::append_request_head(text, exchange_.request(), http::ConnectionHeader::upgrade);
  const std::vector<http::Field> no_trailers;
  http::BodyChunk nothing;
  nothing.last = true;
  client_->start_request(http::Framing::none);
  const IoResult sent = co_await client_->send(text, nothing, no_trailers);
  if (sent.status == IoStatus::cancelled) {
    failure = ProxyError{ProxyReason::client_gone, "the client went away", {}};
  } else {
    failure = co_await read_final_head();
  }
  if (failure) {
    co_await answer(std::move(*failure));
  } else if (state_.response.status == 101) {
    co_await tunnel();
  } else {
    co_await relay_response();
  }
  client_.reset();
  lease_.drop();
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
  const TunnelEnd client_end{client.stream, client.early};
  const TunnelEnd upstream_end{&lease_.stream(), client_->leftover()};
  const TunnelResult moved = co_await run_tunnel(client_end, upstream_end, worker_.buffers());
  state_.record.bytes_in = moved.from_client;
  state_.record.bytes_out = moved.from_upstream;
}

}  // namespace hedge::proxy
