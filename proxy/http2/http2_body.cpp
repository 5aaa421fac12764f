#include "proxy/http2/http2_body.h"

#include <utility>

namespace hedge::proxy::http {

BodyChunk Http2Body::take_buffered() {
  if (finished_ || spoiled_) return {};
  return take();
}

Task<BodyRead> Http2Body::read() {
  pass_on();
  BodyRead out;
  while (!stream_.has_buffered() && !stream_.remote_ended() && !stream_.is_broken()) {
    const IoResult waited = co_await stream_.readable();
    if (!waited.ok()) break;
  }
  if (spoiled_) {
    failed_ = true;
    out.status = BodyStatus::failed;
    co_return out;
  }
  // What had arrived before the stream broke is worth nothing without the rest; a reset after the end is
  // harmless.
  if (!stream_.remote_ended() && (stream_.is_broken() || !stream_.has_buffered())) {
    failure_ = ProxyError{when_broken_,
                          when_broken_ == ProxyReason::client_gone ? "the client ended within the body"
                                                                   : "the upstream ended within the body",
                          {}};
    failed_ = true;
    out.status = BodyStatus::failed;
    co_return out;
  }
  out.chunk = take();
  co_return out;
}

BodyChunk Http2Body::take() {
  pass_on();
  piece_ = stream_.take_received();
  BodyChunk chunk;
  if (piece_.block) {
    chunk.data = piece_.block.bytes().first(piece_.bytes);
    chunk.tail_room = piece_.block.size() - piece_.bytes;
  }
  // Everything that came before the end has just been taken.
  chunk.last = stream_.remote_ended();
  finished_ = chunk.last;
  return chunk;
}

void Http2Body::pass_on() {
  const std::size_t bytes = std::exchange(piece_.bytes, 0);
  piece_.block.release();
  stream_.pass_on(bytes);
}

}  // namespace hedge::proxy::http
