#include "proxy/http2/http2_exchange.h"

#include <utility>

#include "base/task.h"
#include "proxy/http/client_watch.h"
#include "proxy/http2/http2_connection.h"
#include "proxy/http2/websocket_key.h"

namespace hedge::proxy::http {
namespace {

std::string_view view(const BodyChunk& chunk) {
  return {chunk.data.data(), chunk.data.size()};
}

}  // namespace

void* Http2Exchange::operator new(std::size_t bytes) {
  return allocate_frame(bytes);
}

void Http2Exchange::operator delete(void* exchange, std::size_t bytes) noexcept {
  free_frame(exchange, bytes);
}

Http2Exchange::Http2Exchange(Http2Connection& connection, std::int32_t id, RequestStates::Lease state)
    : connection_(connection),
      state_(std::move(state)),
      stream_(connection, id, *this),
      body_(stream_, trailers_, ProxyReason::client_gone),
      continue_timer_(connection.reactor(), this, &continue_is_due) {
  stream_.watch_peer(this);
}

Http2Exchange::~Http2Exchange() {
  stream_.watch_peer(nullptr);
}

void Http2Exchange::head_began() {
  block_.emplace(head_complete_ ? trailers_ : state_->request.fields, state_->received);
}

// Trailers may be a part of the same bytes: what is to be known of the head must be known before they begin.
void Http2Exchange::head_received(bool last) {
  if (!std::exchange(head_complete_, true)) return finish_head(last);
  if (block_->malformed() || block_->too_large()) {
    body_.fail(ProxyError{ProxyReason::client_gone, "the client's trailers are malformed or too large", {}});
    return stream_.reset_with(Http2Error::protocol_error);
  }
  finish_trailers(trailers_);
}

void Http2Exchange::finish_head(bool last) {
  malformed_ = block_->malformed();
  head_error_ = finish_request_head(*block_, last, state_->received, state_->request);
  if (head_error_ || malformed_) return;
  if (!state_->request.upgrade.empty()) {
    prepare_websocket();
  } else if (!last) {
    body_.start();
  }
}

// The upstream is asked as an HTTP/1 client would do it (RFC 8441, section 5).
void Http2Exchange::prepare_websocket() {
  websocket_key_ = make_websocket_key();
  for (Field& field : state_->request.fields) {
    if (field.name == "sec-websocket-key") field.omit = true;
  }
  state_->request.fields.push_back(Field{"Sec-WebSocket-Key", websocket_key_, FieldId::other, false});
}

bool Http2Exchange::sent(const IoResult& result) {
  if (!result.ok()) unreachable_ = true;
  return result.ok();
}

Task<bool> Http2Exchange::send_interim(const ResponseHead& head) {
  interim_sent_ = true;
  make_response_fields(head, state_->received, state_->http2_fields);
  if (!stream_.submit_interim(state_->http2_fields)) co_return false;
  const IoResult result = co_await stream_.send({}, Http2End::none);
  co_return sent(result);
}

Task<bool> Http2Exchange::send_head(const ResponseHead& head, BodyChunk first,
                                    const std::vector<Field>& trailers) {
  const BodyShape& shape = head.body;
  const bool empty = state_->request.method == "HEAD" || is_bodyless(head.status) ||
                     shape.framing == Framing::none ||
                     (shape.framing == Framing::length && shape.length == 0) ||
                     (first.last && first.data.empty() && trailers.empty());
  continue_timer_.stop();
  response_started_ = true;
  state_->record.status = head.status;
  make_response_fields(head, state_->received, state_->http2_fields);
  if (!stream_.submit_response(state_->http2_fields, !empty)) {
    unreachable_ = true;
    co_return false;
  }
  if (!empty) co_return co_await send_pieces(first, trailers);
  const IoResult result = co_await stream_.send({}, Http2End::stream);
  response_complete_ = sent(result);
  co_return response_complete_;
}

Task<bool> Http2Exchange::send_body(BodyChunk chunk, const std::vector<Field>& trailers) {
  co_return co_await send_pieces(chunk, trailers);
}

Task<bool> Http2Exchange::send_pieces(BodyChunk chunk, const std::vector<Field>& trailers) {
  Http2End end = chunk.last ? Http2End::stream : Http2End::none;
  if (chunk.last && !trailers.empty()) {
    make_trailer_fields(trailers, state_->received, state_->http2_fields);
    if (!state_->http2_fields.empty()) end = Http2End::trailers;
  }
  const IoResult data_sent = co_await stream_.send(view(chunk), end);
  if (!sent(data_sent)) co_return false;
  state_->record.bytes_out += chunk.data.size();
  if (end == Http2End::trailers) {
    unreachable_ = !stream_.submit_trailers(state_->http2_fields);
    if (unreachable_) co_return false;
    const IoResult trailers_sent = co_await stream_.send({}, Http2End::stream);
    if (!sent(trailers_sent)) co_return false;
  }
  response_complete_ = chunk.last;
  co_return true;
}

void Http2Exchange::abort() {
  unreachable_ = true;
  stream_.reset_with(Http2Error::internal_error);
}

// RFC 9113, section 8.1: the client may stop its body and has lost nothing.
void Http2Exchange::finish_early() {
  stream_.reset_with(response_complete_ ? Http2Error::no_error : Http2Error::internal_error);
}

void Http2Exchange::finish() {
  continue_timer_.stop();
  if (!response_complete_) return stream_.reset_with(Http2Error::internal_error);
  if (!stream_.remote_ended()) stream_.reset_with(Http2Error::no_error);
}

std::optional<ProxyError> Http2Exchange::check_upgrade(const ResponseHead& head) const {
  if (is_websocket_accept(websocket_key_, head)) return std::nullopt;
  return ProxyError{ProxyReason::upstream_bad_response,
                    "the upstream's Sec-WebSocket-Accept does not answer the key that it was sent",
                    {}};
}

Task<UpgradedClient> Http2Exchange::upgrade(const ResponseHead& head) {
  // RFC 8441, section 5: what was a 101 is a 200; the fields of the handshake stay behind.
  ResponseHead opened;
  opened.status = 200;
  opened.body = BodyShape{Framing::chunked, 0};
  for (const Field& field : head.fields) {
    if (!is_websocket_handshake_field(field.name)) opened.fields.push_back(field);
  }
  state_->record.status = opened.status;
  response_started_ = true;
  make_response_fields(opened, state_->received, state_->http2_fields);
  UpgradedClient client;
  if (!stream_.submit_response(state_->http2_fields, true)) co_return client;
  const IoResult result = co_await stream_.send({}, Http2End::none);
  if (!sent(result)) co_return client;
  stream_.watch_peer(nullptr);
  // What ends from here on, ends as the tunnel's two ends say.
  response_complete_ = true;
  client.stream = &stream_;
  co_return client;
}

void Http2Exchange::set_upstream(ByteStream* upstream) {
  upstream_ = upstream;
  if (upstream_ != nullptr && client_gone()) upstream_->cancel();
}

void Http2Exchange::peer_gone() {
  if (upstream_ != nullptr) upstream_->cancel();
}

void Http2Exchange::expect_continue() {
  continue_timer_.start(kClientWatchLimits.continue_after);
}

void Http2Exchange::continue_is_due(void* self) {
  auto& exchange = *static_cast<Http2Exchange*>(self);
  if (exchange.interim_sent_ || exchange.response_started_ || exchange.client_gone()) return;
  static constexpr Http2Field kContinue[] = {{":status", "100"}};
  if (exchange.stream_.submit_interim(kContinue)) exchange.connection_.schedule();
}

}  // namespace hedge::proxy::http
