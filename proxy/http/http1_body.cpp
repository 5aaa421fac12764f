#include "proxy/http/http1_body.h"

#include <utility>

#include "proxy/http/trailers.h"

namespace hedge::proxy::http {
namespace {

// Left free behind every read for the framing of the piece. More than the rest of a body is asked for on
// purpose: only a read that comes back short tells the stream that nothing else has arrived.
constexpr std::size_t kFramingRoom = 16;

}  // namespace

void Http1Body::start(BodyShape shape) {
  decoder_.start(shape);
  trailers_.clear();
  bytes_ = 0;
  failed_ = false;
  handed_out_last_ = decoder_.done();
}

BodyChunk Http1Body::take_buffered() {
  if (handed_out_last_ || failed_ || input_.empty()) return {};
  std::size_t consumed = 0;
  const BodyRead decoded = decode(input_.unread(), input_.free_bytes(), consumed);
  input_.consume(consumed);
  return decoded.chunk;
}

Task<BodyRead> Http1Body::read() {
  if (failed_) co_return BodyRead{BodyStatus::failed, {}};
  if (!input_.empty()) {
    std::size_t consumed = 0;
    const BodyRead decoded = decode(input_.unread(), input_.free_bytes(), consumed);
    input_.consume(consumed);
    if (decoded.status == BodyStatus::failed || !decoded.chunk.data.empty() || decoded.chunk.last)
      co_return decoded;
  }
  for (;;) {
    if (!stream_.is_readable() && !stream_.has_buffered()) {
      // Whoever waits holds nothing.
      block_.release();
      const IoResult waited = co_await stream_.readable();
      if (!waited.ok()) co_return fail_read(waited);
    }
    if (!block_) block_ = stream_.identity().tls ? buffers_.lease_head() : buffers_.lease_body();
    const IoResult got = co_await stream_.read_some(block_.bytes().first(block_.size() - kFramingRoom));
    if (got.status == IoStatus::end) co_return end_of_stream();
    if (!got.ok()) co_return fail_read(got);
    std::size_t consumed = 0;
    const BodyRead decoded = decode(block_.bytes().first(got.bytes), block_.size() - got.bytes, consumed);
    if (decoded.chunk.last) input_.put_back(block_.bytes().subspan(consumed, got.bytes - consumed));
    if (decoded.status == BodyStatus::failed || !decoded.chunk.data.empty() || decoded.chunk.last)
      co_return decoded;
  }
}

RawBody Http1Body::raw() {
  if (handed_out_last_ || failed_ || !input_.empty() || !stream_.can_splice()) return {};
  const std::uint64_t bytes = decoder_.raw_remaining();
  return bytes == 0 ? RawBody{} : RawBody{&stream_, bytes};
}

void Http1Body::took_raw(std::uint64_t bytes, IoResult failure) {
  block_.release();
  decoder_.skip_raw(bytes);
  bytes_ += bytes;
  handed_out_last_ = decoder_.done();
  if (failure.ok() || handed_out_last_) return;
  static_cast<void>(failure.status == IoStatus::end ? end_of_stream() : fail_read(failure));
}

BodyRead Http1Body::decode(std::span<char> bytes, std::size_t free_after, std::size_t& consumed) {
  const BodyDecoder::Decoded decoded = decoder_.decode(bytes);
  consumed = decoded.consumed;
  if (decoded.state == BodyDecoder::State::failed) {
    return fail(kind_ == MessageKind::request ? ProxyReason::bad_request : ProxyReason::upstream_bad_response,
                std::string(decoder_.error()));
  }
  BodyRead out;
  out.chunk.data = decoded.payload;
  out.chunk.last = decoder_.done();
  bytes_ += decoded.payload.size();
  if (!decoded.payload.empty()) {
    // Everything from the payload's end to the first unconsumed byte is framing that has been read; with
    // nothing unconsumed, the free rest of the buffer follows.
    const auto payload_end =
        static_cast<std::size_t>(decoded.payload.data() + decoded.payload.size() - bytes.data());
    out.chunk.tail_room = consumed - payload_end;
    if (consumed == bytes.size()) out.chunk.tail_room += free_after;
  }
  if (out.chunk.last && !finish()) return BodyRead{BodyStatus::failed, {}};
  return out;
}

bool Http1Body::finish() {
  if (decoder_.trailer_section().empty() || parse_trailers(decoder_.trailer_section(), trailers_)) {
    handed_out_last_ = true;
    return true;
  }
  static_cast<void>(
      fail(kind_ == MessageKind::request ? ProxyReason::bad_request : ProxyReason::upstream_bad_response,
           "a trailer line is malformed"));
  return false;
}

BodyRead Http1Body::end_of_stream() {
  if (!decoder_.finish_at_end_of_stream()) {
    if (kind_ == MessageKind::request)
      return fail(ProxyReason::client_gone, "the client ended within the body");
    return fail(ProxyReason::upstream_closed, "the upstream ended within the body");
  }
  handed_out_last_ = true;
  BodyRead out;
  out.chunk.last = true;
  return out;
}

BodyRead Http1Body::fail_read(const IoResult& result) {
  const ProxyReason reason =
      kind_ == MessageKind::request ? ProxyReason::client_gone : ProxyReason::upstream_closed;
  return fail(reason, to_error(result, "reading the body").to_string());
}

BodyRead Http1Body::fail(ProxyReason reason, std::string detail) {
  failure_ = ProxyError{reason, std::move(detail), {}};
  failed_ = true;
  return BodyRead{BodyStatus::failed, {}};
}

}  // namespace hedge::proxy::http
