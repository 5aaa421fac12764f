#include "proxy/http2/http2_call.h"

#include <cerrno>
#include <utility>

#include "proxy/http2/http2_client_connection.h"

namespace hedge::proxy::http {
namespace {

// Nothing bounds header blocks in the way that windows bound bodies. What all interim heads of a response may
// come to, fields and a sum for each: hints of any size, and progress reports for many hours.
constexpr std::size_t kMostInterimCost = 256U << 10;
constexpr std::size_t kInterimHeadCost = 64;

}  // namespace

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
  if (given_up_) return;
  response_started_ = true;
  if (final_head_came_) {
    block_.emplace(trailers_, state_.received);
  } else {
    arriving_ = ReceivedHead();
    block_.emplace(arriving_.head.fields, state_.received);
  }
}

void Http2Call::head_received(bool last) {
  if (given_up_) return;
  if (final_head_came_) return trailers_received();
  arriving_.last = last;
  arriving_.error = check_head(last);
  final_head_came_ = arriving_.error || !is_interim(arriving_.head.status);
  if (arriving_.error) {
    given_up_ = true;
    stream_.reset_with(Http2Error::protocol_error);
  }
  heads_.push_back(std::move(arriving_));
  stream_.set_news(true);
}

std::optional<ProxyError> Http2Call::check_head(bool last) {
  if (auto wrong = finish_response_head(*block_, last, head_request_, arriving_.head)) return wrong;
  if (block_->malformed())
    return ProxyError{ProxyReason::upstream_bad_response, "a header field is malformed", {}};
  if (!is_interim(arriving_.head.status)) return std::nullopt;
  interim_cost_ += kInterimHeadCost + block_->bytes();
  if (interim_cost_ > kMostInterimCost)
    return ProxyError{
        ProxyReason::upstream_bad_response, "there are too many interim responses before the final one", {}};
  return std::nullopt;
}

void Http2Call::trailers_received() {
  if (block_->malformed() || block_->too_large()) {
    given_up_ = true;
    body_.fail(ProxyError{ProxyReason::upstream_bad_response,
                          block_->malformed() ? "a trailer field is malformed" : "the trailers are too large",
                          {}});
    return stream_.reset_with(Http2Error::protocol_error);
  }
  finish_trailers(trailers_);
}

Task<std::optional<ProxyError>> Http2Call::read_head(bool /*head_request*/, ResponseHead& out) {
  while (heads_.empty()) {
    if (stream_.is_broken() || stream_.remote_ended()) co_return closed();
    const IoResult waited = co_await stream_.readable();
    if (!waited.ok()) co_return closed();
    stream_.set_news(false);
  }
  stream_.set_news(false);
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
