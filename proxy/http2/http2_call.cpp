#include "proxy/http2/http2_call.h"

#include <cerrno>
#include <utility>

#include "proxy/http2/http2_client_connection.h"

namespace hedge::proxy::http {

Http2Call::Http2Call(Http2ClientConnection& connection, RequestState& state, LeaseTimings timings)
    : state_(state),
      timings_(timings),
      connection_(connection),
      stream_(connection.connection(), 0, *this),
      body_(stream_, trailers_, ProxyReason::upstream_closed),
      reused_(connection.begin_call()) {}

Http2Call::~Http2Call() = default;

const ResolvedUpstream& Http2Call::upstream() const noexcept {
  return connection_.upstream();
}

Task<IoResult> Http2Call::send_head(const RequestHead& head, ConnectionHeader /*connection*/, BodyChunk first,
                                    const std::vector<Field>& trailers) {
  head_request_ = head.method == "HEAD";
  const bool has_body =
      head.body.framing == Framing::chunked || (head.body.framing == Framing::length && head.body.length > 0);
  make_request_fields(head, "http", state_.received, state_.http2_fields);
  if (!stream_.submit_request(state_.http2_fields, has_body)) co_return IoResult::failure(EPIPE);
  if (has_body) co_return co_await send_pieces(first, trailers);
  IoResult sent = co_await stream_.send({}, Http2End::stream);
  // Something has gone out, whatever its size.
  sent.bytes = 1;
  co_return sent;
}

Task<IoResult> Http2Call::send_body(BodyChunk chunk, const std::vector<Field>& trailers) {
  return send_pieces(chunk, trailers);
}

Task<IoResult> Http2Call::send_pieces(BodyChunk chunk, const std::vector<Field>& trailers) {
  Http2End end = chunk.last ? Http2End::stream : Http2End::none;
  std::vector<Http2Field> trailer_fields;
  if (chunk.last && !trailers.empty()) {
    make_trailer_fields(trailers, state_.received, trailer_fields);
    if (!trailer_fields.empty()) end = Http2End::trailers;
  }
  IoResult sent = co_await stream_.send({chunk.data.data(), chunk.data.size()}, end);
  if (sent.ok() && end == Http2End::trailers) {
    if (!stream_.submit_trailers(trailer_fields)) co_return IoResult::failure(EPIPE);
    sent = co_await stream_.send({}, Http2End::stream);
  }
  sent.bytes = 1 + chunk.data.size();
  co_return sent;
}

void Http2Call::head_began() {
  if (final_head_came_) {
    block_.emplace(trailers_, state_.received);
  } else {
    block_.emplace(heads_.emplace_back().head.fields, state_.received);
  }
}

void Http2Call::head_received(bool last) {
  if (final_head_came_) {
    finish_trailers(trailers_);
    return;
  }
  ReceivedHead& received = heads_.back();
  received.error = finish_response_head(*block_, last, head_request_, received.head);
  if (!received.error && block_->malformed())
    received.error = ProxyError{ProxyReason::upstream_bad_response, "a header field is malformed", {}};
  received.last = last;
  final_head_came_ = received.error || !is_interim(received.head.status);
  stream_.set_news(true);
}

Task<std::optional<ProxyError>> Http2Call::read_head(bool /*head_request*/, ResponseHead& out) {
  // A block that has begun is in the list already.
  while (heads_.empty() || (heads_.size() == 1 && heads_.front().head.status == 0 && !heads_.front().error)) {
    if (stream_.is_broken() || stream_.remote_ended()) co_return closed();
    const IoResult waited = co_await stream_.readable();
    if (!waited.ok()) co_return closed();
    stream_.set_news(false);
  }
  stream_.set_news(false);
  response_started_ = true;
  ReceivedHead received = std::move(heads_.front());
  heads_.erase(heads_.begin());
  if (received.error) co_return std::move(received.error);
  out = std::move(received.head);
  if (!is_interim(out.status) && !received.last) body_.start();
  co_return std::nullopt;
}

bool Http2Call::was_refused() const {
  return stream_.is_broken() &&
         stream_.close_error() == static_cast<std::uint32_t>(Http2Error::refused_stream);
}

ProxyError Http2Call::closed() const {
  if (was_refused())
    return ProxyError{ProxyReason::upstream_closed, "the upstream refused the request's stream", {}};
  // Ours: the response broke the protocol.
  if (stream_.close_error() == static_cast<std::uint32_t>(Http2Error::protocol_error))
    return ProxyError{ProxyReason::upstream_bad_response, "the upstream's response breaks HTTP/2", {}};
  return ProxyError{ProxyReason::upstream_closed, "the upstream ended the stream before it answered", {}};
}

}  // namespace hedge::proxy::http
