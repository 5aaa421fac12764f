#include "proxy/http/http1_exchange.h"

namespace hedge::proxy::http {
namespace {

// How long a client may go on sending after the edge has answered and closed its own side (RFC 9112,
// section 9.6).
constexpr std::chrono::milliseconds kLingerLimit{3000};

}  // namespace

Http1Exchange::Http1Exchange(const Http1Connection& connection, RequestState& state)
    : connection_(connection),
      state_(state),
      body_(MessageKind::request, connection.stream, connection.input, connection.worker.buffers()),
      watch_(connection.worker.reactor(), connection.stream, state.request.version) {
  const RequestHead& request = state.request;
  body_.start(request.body);
  close_ = request.connection.close || (request.version == Version::http10 && !request.connection.keep_alive);
}

Task<bool> Http1Exchange::send_interim(const ResponseHead& head) {
  if (state_.request.version == Version::http10) co_return true;
  std::string& text = state_.client_text;
  text.clear();
  append_response_head(text, head, BodyShape(), ConnectionHeader::none);
  watch_.sending_interim();
  const IoResult sent = co_await connection_.stream.write(text);
  unreachable_ = !sent.ok();
  co_return sent.ok();
}

BodyShape Http1Exchange::client_shape(const ResponseHead& head) const {
  if (state_.request.method == "HEAD" || is_bodyless(head.status)) return BodyShape();
  if (head.body.framing == Framing::none || head.body.framing == Framing::length) return head.body;
  // An HTTP/1.0 client knows no chunks; the end of its connection is the end of the body.
  return BodyShape{state_.request.version == Version::http10 ? Framing::until_close : Framing::chunked, 0};
}

ConnectionHeader Http1Exchange::connection_header() const {
  if (close_) return ConnectionHeader::close;
  return state_.request.version == Version::http10 ? ConnectionHeader::keep_alive : ConnectionHeader::none;
}

Task<bool> Http1Exchange::send_head(const ResponseHead& head, BodyChunk first,
                                    const std::vector<Field>& trailers) {
  const BodyShape shape = client_shape(head);
  // A body that is still on its way is never waited for after an answer.
  close_ =
      close_ || shape.framing == Framing::until_close || !body_.finished() || connection_.worker.draining();
  response_started_ = true;
  state_.record.status = head.status;
  state_.client_text.clear();
  append_response_head(state_.client_text, head, shape, connection_header());
  framer_.start(shape.framing);
  if (shape.framing == Framing::none || (shape.framing == Framing::length && shape.length == 0)) {
    first = BodyChunk();
    first.last = true;
  }
  co_return co_await send_pieces(first, trailers);
}

Task<bool> Http1Exchange::send_body(BodyChunk chunk, const std::vector<Field>& trailers) {
  state_.client_text.clear();
  co_return co_await send_pieces(chunk, trailers);
}

Task<bool> Http1Exchange::send_pieces(BodyChunk chunk, const std::vector<Field>& trailers) {
  const BodyFramer::Pieces pieces = framer_.frame(state_.client_text, chunk, trailers);
  watch_.sending();
  IoResult sent = IoResult::moved(0);
  if (!pieces.first.empty() || !pieces.second.empty())
    sent = co_await connection_.stream.write(pieces.first, pieces.second);
  if (sent.ok() && !pieces.third.empty()) sent = co_await connection_.stream.write(pieces.third);
  if (!sent.ok()) {
    unreachable_ = true;
    co_return false;
  }
  state_.record.bytes_out += chunk.data.size();
  response_complete_ = chunk.last;
  co_return true;
}

ByteStream* Http1Exchange::raw_client() {
  if (framer_.framing() != Framing::length || !connection_.stream.can_splice()) return nullptr;
  return &connection_.stream;
}

void Http1Exchange::begin_raw() {
  watch_.sending();
}

void Http1Exchange::sent_raw(std::uint64_t bytes, bool last, IoResult sent) {
  state_.record.bytes_out += bytes;
  unreachable_ = unreachable_ || !sent.ok();
  response_complete_ = last && sent.ok();
}

void Http1Exchange::abort() {
  close_ = true;
  unreachable_ = true;
  // With a length or chunks the missing end speaks for itself, and what was received so far still arrives.
  // Where only the end of the connection ends the body, it has to look like a failure.
  if (framer_.framing() == Framing::until_close) abort_hard_ = true;
}

void Http1Exchange::finish_early() {
  close_ = true;
  if (write_side_closed_) return;
  write_side_closed_ = true;
  if (abort_hard_) {
    // A FIN would pass for the end of the body. Whoever still reads the client's body stops.
    connection_.stream.cancel();
    return;
  }
  // Best effort: a client that is gone cannot be told.
  static_cast<void>(connection_.stream.try_shutdown_write());
  connection_.stream.set_deadline(kLingerLimit);
}

Task<UpgradedClient> Http1Exchange::upgrade(const ResponseHead& head) {
  std::string& text = state_.client_text;
  text.clear();
  append_response_head(text, head, BodyShape(), ConnectionHeader::upgrade);
  state_.record.status = head.status;
  response_started_ = true;
  upgraded_ = true;
  close_ = true;
  watch_.sending();
  const IoResult sent = co_await connection_.stream.write(text);
  UpgradedClient client;
  if (!sent.ok()) {
    unreachable_ = true;
    co_return client;
  }
  // From here on a FIN is the tunnel's.
  connection_.stream.watch_peer(nullptr);
  client.stream = &connection_.stream;
  client.early = connection_.input.text();
  co_return client;
}

bool Http1Exchange::reusable() const noexcept {
  return response_complete_ && !close_ && !unreachable_ && body_.finished() && !watch_.gone();
}

}  // namespace hedge::proxy::http
