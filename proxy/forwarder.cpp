#include "proxy/forwarder.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "proxy/error_answer.h"
#include "proxy/forwarding.h"
#include "proxy/http2/http2_upstreams.h"
#include "proxy/response_headers.h"
#include "proxy/retry_policy.h"
#include "proxy/stream/splice.h"

namespace hedge::proxy {
namespace {

using http::BodyChunk;
using http::BodyRead;
using http::BodyStatus;
using http::Field;
using http::FieldId;

std::chrono::microseconds since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
}

// Open pages reconnect their WebSockets and event streams again and again, whether or not somebody is there.
bool is_made_by_itself(const http::RequestHead& request) {
  return !request.upgrade.empty() || request.first(FieldId::accept) == "text/event-stream";
}

}  // namespace

Forwarding::Forwarding(http::Exchange& exchange, const ForwardContext& context)
    : exchange_(exchange),
      worker_(context.worker),
      state_(context.state),
      trusted_(context.trusted),
      meter_(worker_.traffic(), state_.record, start_) {}

Task<void> forward(http::Exchange& exchange, const ForwardContext& context) {
  Forwarding forwarding(exchange, context);
  co_await forwarding.run();
}

Task<void> Forwarding::run() {
  http::RequestHead& request = exchange_.request();
  Failure failure = choose_route();
  if (failure) {
    co_await answer(std::move(*failure));
    co_return;
  }
  ForwardedFacts facts{exchange_.peer(),
                       *authority_,
                       trusted_.contains(exchange_.peer().peer_ip),
                       {state_.fresh_request_id.data(), state_.fresh_request_id.size()}};
  request_id_ = prepare_request_fields(request, facts, state_.texts);
  state_.record.request_id = request_id_;
  if (ignores_upgrade()) request.upgrade = {};
  if (request.upgrade.empty()) {
    co_await run_request();
  } else {
    co_await run_upgrade();
  }
}

Forwarding::Failure Forwarding::choose_route() {
  const http::RequestHead& request = exchange_.request();
  authority_ = router::parse_authority(request.authority);
  if (!authority_) return ProxyError{ProxyReason::bad_request, "the host of the request is malformed", {}};
  state_.record.host = authority_->host;
  table_ = worker_.routes();
  route_ = table_->find(authority_->host);
  if (route_ == nullptr)
    return ProxyError{ProxyReason::route_unknown, "no route for \"" + printable(authority_->host) + "\"", {}};
  state_.record.worktree = route_->worktree;
  meter_.routed(*route_, is_made_by_itself(request));
  if (count_own_hops(request) > kMaxOwnHops) return loop_error();
  if (route_->state == router::RouteState::starting)
    return ProxyError{ProxyReason::stack_starting, "the worktree's services are being started", {}};
  return std::nullopt;
}

ProxyError Forwarding::loop_error() const {
  const std::string host = printable(authority_->host);
  std::string detail = "requests for " + host + " come back to this edge from its own upstream, " +
                       router::to_string(route_->upstream) + ", with the same Host";
  for (const Field& field : exchange_.request().fields) {
    if (field.id == FieldId::x_forwarded && equals_ignoring_case(field.name, "x-forwarded-host") &&
        !equals_ignoring_case(field.value, exchange_.request().authority))
      detail += " (first asked for: " + printable(field.value) + ")";
  }
  return ProxyError{
      ProxyReason::loop_detected, std::move(detail),
      "in the application behind " + host +
          ", let its proxy set the Host of the host that it means (vite and webpack: changeOrigin: true; "
          "nginx: proxy_set_header Host)"};
}

Task<void> Forwarding::run_request() {
  first_chunk_ = exchange_.body().take_buffered();
  if (exchange_.body().failed()) {
    co_await answer(exchange_.body().failure());
    co_return;
  }
  upload_complete_ = exchange_.body().finished();
  Failure failure = co_await attempt(LeaseKind::any);
  if (failure && may_repeat(*failure)) {
    worker_.mutable_stats().upstream_retries.add();
    state_.record.retried = true;
    drop_upstream();
    failure = co_await attempt(LeaseKind::fresh);
  }
  if (failure) {
    co_await answer(upload_failure_ ? std::move(*upload_failure_) : std::move(*failure));
  } else {
    co_await relay_response();
  }
  co_await finish_upload();
}

Task<Forwarding::Failure> Forwarding::attempt(LeaseKind kind) {
  ++attempts_;
  sent_bytes_ = 0;
  Failure failure = co_await open(kind);
  if (failure) co_return failure;
  failure = co_await send_request();
  if (failure) co_return failure;
  if (!upload_complete_ && !uploading_) {
    uploading_ = true;
    if (exchange_.request().expects_continue) exchange_.expect_continue();
    uploads_.spawn(upload());
  }
  co_return co_await read_final_head();
}

Task<Forwarding::Failure> Forwarding::open(LeaseKind kind) {
  Failure failure;
  if (route_->protocol == router::Protocol::h2c) {
    failure = co_await open_http2(kind);
  } else {
    failure = co_await open_http1(kind);
  }
  if (failure) co_return failure;
  exchange_.set_upstream(&call_->stream());
  if (exchange_.client_gone()) co_return ProxyError{ProxyReason::client_gone, "the client went away", {}};
  co_return std::nullopt;
}

Task<Forwarding::Failure> Forwarding::open_http1(LeaseKind kind) {
  if (kind == LeaseKind::any) lease_ = worker_.upstreams().try_lease(*route_);
  if (!lease_) {
    LeaseResult leased = co_await worker_.upstreams().lease(*route_, kind);
    if (ProxyError* error = std::get_if<ProxyError>(&leased)) co_return std::move(*error);
    lease_ = std::get<UpstreamLease>(std::move(leased));
  }
  state_.record.upstream = lease_.identity();
  state_.record.resolve = lease_.timings().resolve;
  state_.record.connect = lease_.timings().connect;
  call_ = &http1_.emplace(lease_.stream(), worker_.buffers(), state_.upstream_text);
  co_return std::nullopt;
}

Task<Forwarding::Failure> Forwarding::open_http2(LeaseKind kind) {
  http::Http2OpenResult opened = co_await worker_.http2_upstreams().open(*route_, kind, state_);
  if (ProxyError* error = std::get_if<ProxyError>(&opened)) co_return std::move(*error);
  http2_ = std::get<std::unique_ptr<http::Http2Call>>(std::move(opened));
  state_.record.upstream = http2_->upstream().identity;
  state_.record.resolve = http2_->timings().resolve;
  state_.record.connect = http2_->timings().connect;
  call_ = http2_.get();
  co_return std::nullopt;
}

void Forwarding::drop_upstream() {
  exchange_.set_upstream(nullptr);
  call_ = nullptr;
  http1_.reset();
  http2_.reset();
  lease_.drop();
}

Task<Forwarding::Failure> Forwarding::send_request() {
  const IoResult sent = co_await call_->send_head(exchange_.request(), http::ConnectionHeader::none,
                                                  first_chunk_, exchange_.body().trailers());
  sent_bytes_ = sent.bytes;
  state_.record.bytes_in = first_chunk_.data.size();
  // A write that failed says little: the upstream may have answered before it closed. The read tells.
  if (sent.status == IoStatus::cancelled)
    co_return ProxyError{ProxyReason::client_gone, "the client went away", {}};
  co_return std::nullopt;
}

Task<Forwarding::Failure> Forwarding::read_final_head() {
  const bool is_head = exchange_.request().method == "HEAD";
  for (;;) {
    Failure failure = co_await call_->read_head(is_head, state_.response);
    if (failure) {
      if (exchange_.client_gone()) co_return ProxyError{ProxyReason::client_gone, "the client went away", {}};
      co_return failure;
    }
    const http::ResponseHead& response = state_.response;
    if (response.status == 101) {
      if (!exchange_.request().upgrade.empty()) co_return std::nullopt;
      co_return ProxyError{ProxyReason::upstream_bad_response, "the upstream switches protocols unasked", {}};
    }
    if (!http::is_interim(response.status)) {
      state_.record.first_byte = since(start_);
      co_return std::nullopt;
    }
    const bool sent = co_await exchange_.send_interim(response);
    if (!sent) co_return ProxyError{ProxyReason::client_gone, "the client went away", {}};
  }
}

bool Forwarding::may_repeat(const ProxyError& error) const {
  FailedAttempt failed;
  failed.reason = error.reason;
  const bool refused = call_ != nullptr && call_->was_refused();
  failed.reused = refused || (http2_ != nullptr && http2_->reused()) || (lease_ && lease_.reused());
  failed.response_started = call_ != nullptr && call_->response_started();
  failed.sent_anything = sent_bytes_ > 0 && !refused;
  failed.idempotent = http::is_idempotent(exchange_.request().method);
  failed.replayable = upload_complete_ && !uploading_;
  failed.attempts = attempts_;
  return may_retry(failed);
}

Task<void> Forwarding::relay_response() {
  http::ResponseHead& response = state_.response;
  const ResponseRules rules{route_->host, worker_.settings().narrow_cookies};
  prepare_response_fields(response, rules, state_.texts);
  http::BodySource& body = call_->body();
  const BodyChunk first = body.take_buffered();
  if (body.failed()) {
    // Nothing was sent yet, so the client can be told.
    co_await answer(body.failure());
    finish_upstream(false);
    co_return;
  }
  bool sent = co_await exchange_.send_head(response, first, body.trailers());
  if (sent) sent = co_await relay_body();
  if (!sent) state_.record.error_id = facts(ProxyReason::client_gone).id;
  finish_upstream(sent && body.finished());
}

Task<bool> Forwarding::relay_body() {
  http::BodySource& body = call_->body();
  bool may_splice = true;
  while (!body.finished()) {
    const http::RawBody raw = body.raw();
    ByteStream* client = may_splice && raw.bytes >= kLeastSplice ? exchange_.raw_client() : nullptr;
    bool sent = true;
    bool failed = false;
    if (client != nullptr) {
      exchange_.begin_raw();
      const SpliceResult moved = co_await splice_piece(*raw.stream, *client, raw.bytes, worker_.pipes());
      body.took_raw(moved.bytes, moved.read);
      exchange_.sent_raw(moved.bytes, body.finished(), moved.write);
      may_splice = !moved.no_pipe;
      sent = moved.write.ok();
      failed = !moved.read.ok();
    } else {
      const BodyRead piece = co_await body.read();
      failed = piece.status == BodyStatus::failed;
      if (!failed) sent = co_await exchange_.send_body(piece.chunk, body.trailers());
    }
    if (failed) {
      note_body_failure();
      exchange_.abort();
      co_return true;
    }
    if (!sent) co_return false;
  }
  co_return true;
}

// A cancelled read is the client's doing, not the upstream's.
void Forwarding::note_body_failure() {
  if (upload_failure_) {
    state_.record.error_id = upload_failure_->id();
  } else {
    state_.record.error_id =
        exchange_.client_gone() ? facts(ProxyReason::client_gone).id : call_->body().failure().id();
  }
}

void Forwarding::finish_upstream(bool clean) {
  exchange_.set_upstream(nullptr);
  // An upload that goes on still uses the connection; finish_upload() ends both.
  if (uploading_ && !uploads_.empty()) return;
  // An upstream that was asked to switch protocols and did not may have done so by half.
  const bool asked_to_switch = !exchange_.request().upgrade.empty();
  if (lease_ && clean && upload_complete_ && !asked_to_switch && call_->reusable(state_.response)) {
    const auto seconds = keep_alive_seconds(state_.response);
    call_ = nullptr;
    http1_.reset();
    if (!seconds) return lease_.keep();
    // Half a second before the upstream's own limit, so that its FIN does not cross a request.
    if (*seconds > 0 && *seconds < 3600) return lease_.keep(std::chrono::milliseconds(*seconds * 1000 - 500));
    if (*seconds > 0) return lease_.keep();
  }
  drop_upstream();
}

Task<void> Forwarding::upload() {
  http::BodySource& body = exchange_.body();
  while (!body.finished()) {
    const BodyRead piece = co_await body.read();
    if (piece.status == BodyStatus::failed) {
      if (!upload_abandoned_) {
        upload_failure_ = body.failure();
        call_->stream().cancel();
      }
      co_return;
    }
    if (upload_abandoned_) continue;
    state_.record.bytes_in += piece.chunk.data.size();
    const IoResult sent = co_await call_->send_body(piece.chunk, body.trailers());
    // The upstream takes no more; it may be answering nevertheless.
    if (!sent.ok()) upload_abandoned_ = true;
  }
  // An answer that comes for hours holds nothing of the request.
  body.release_buffer();
  upload_complete_ = !upload_abandoned_;
}

Task<void> Forwarding::finish_upload() {
  if (!uploading_) co_return;
  if (!uploads_.empty()) {
    upload_abandoned_ = true;
    exchange_.set_upstream(nullptr);
    if (call_ != nullptr) call_->stream().cancel();
    exchange_.finish_early();
    co_await uploads_.join();
  }
  drop_upstream();
}

Task<void> Forwarding::answer(ProxyError error) {
  exchange_.set_upstream(nullptr);
  if (error.reason == ProxyReason::client_gone || exchange_.client_gone()) {
    state_.record.status = facts(ProxyReason::client_gone).status;
    state_.record.error_id = facts(ProxyReason::client_gone).id;
    exchange_.abort();
    co_return;
  }
  std::string upstream;
  ErrorReport report;
  report.error = std::move(error);
  report.host = authority_ ? authority_->host : exchange_.request().authority;
  report.request_id = request_id_;
  if (route_ != nullptr) {
    report.worktree = route_->worktree;
    report.route_host = route_->host;
    upstream = router::to_string(route_->upstream);
    // Where the connection led, if there was one: the container's name and address.
    if (lease_) upstream += " (" + lease_.upstream().description + ")";
    if (http2_ != nullptr) upstream += " (" + http2_->upstream().description + ")";
    report.upstream = upstream;
  }
  if (report.error.reason == ProxyReason::stack_starting) report.retry_after_seconds = 2;
  if (report.error.reason == ProxyReason::route_unknown && may_list_hosts()) {
    table_->for_each([&report](const router::Route& route) {
      report.known_hosts.push_back(route.host);
      return report.known_hosts.size() < kMostHostsTold;
    });
    std::sort(report.known_hosts.begin(), report.known_hosts.end());
    report.known_hosts_total = table_->size();
    report.port = authority_->port.value_or(0);
  }
  static_cast<void>(co_await answer_with_error(exchange_, state_, report));
}

// Names of other worktrees are for whoever sits at this machine. A page of a foreign site that has rebound
// its own name to the loopback address is same-origin with this answer; its name is none that only this
// machine resolves.
bool Forwarding::may_list_hosts() const {
  if (!exchange_.peer().peer_is_loopback) return false;
  return authority_->is_ip_literal || is_development_host(authority_->host);
}

}  // namespace hedge::proxy
