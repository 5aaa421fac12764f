// One body, pulled piece by piece: the reader's pace is the sender's limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/task.h"
#include "proxy/http/message.h"
#include "proxy/proxy_error.h"
#include "proxy/stream/byte_stream.h"

namespace hedge::proxy::http {

// A piece of payload inside a buffer of its source; valid until the source is asked again.
struct BodyChunk {
  std::span<char> data;
  // That many bytes after `data` may be overwritten: room for framing, so that a piece is sent with what
  // follows it.
  std::size_t tail_room = 0;
  bool last = false;  // nothing follows; trailers are complete
};

enum class BodyStatus : std::uint8_t { ok, failed };

struct BodyRead {
  BodyStatus status = BodyStatus::ok;
  BodyChunk chunk;  // never empty unless it is the last
};

// Payload that has not been read yet and follows on a stream as it is, without framing between.
struct RawBody {
  ByteStream* stream = nullptr;  // null: there is none
  std::uint64_t bytes = 0;
};

class BodySource {
 public:
  virtual ~BodySource() = default;

  // What has been received already, without waiting; empty and not last if there is nothing, or if what there
  // is turns out to be malformed: see failed().
  virtual BodyChunk take_buffered() = 0;
  // Waits for the next piece.
  // Requires: no piece before was the last, and no read failed.
  virtual Task<BodyRead> read() = 0;
  // For whoever can move the rest of the body from the stream without looking at it, and then says so.
  virtual RawBody raw() { return {}; }
  // `bytes` of the raw body were taken from the stream; with `failure` it gave no more, and the body has
  // failed.
  virtual void took_raw(std::uint64_t /*bytes*/, IoResult /*failure*/) {}
  // The last piece has been handed out.
  virtual bool finished() const = 0;
  // A piece was malformed or could not be read; finished() never becomes true. take_buffered() may be what
  // noticed.
  virtual bool failed() const = 0;
  // The last piece that was handed out is not needed any more: its memory may go back.
  virtual void release_buffer() {}
  // After the last piece.
  virtual const std::vector<Field>& trailers() const = 0;
  // Why a read failed: bad_request, upstream_bad_response, upstream_closed or client_gone.
  virtual const ProxyError& failure() const = 0;
};

}  // namespace hedge::proxy::http
