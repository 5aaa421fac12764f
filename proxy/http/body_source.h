// One body, pulled piece by piece: the reader's pace is the sender's limit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/task.h"
#include "proxy/http/message.h"
#include "proxy/proxy_error.h"

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

class BodySource {
 public:
  virtual ~BodySource() = default;

  // What has been received already, without waiting; empty and not last if there is nothing. A body that is
  // malformed says so at the next read().
  virtual BodyChunk take_buffered() = 0;
  // Waits for the next piece.
  // Requires: no piece before was the last, and no read failed.
  virtual Task<BodyRead> read() = 0;
  // The last piece has been handed out.
  virtual bool finished() const = 0;
  // After the last piece.
  virtual const std::vector<Field>& trailers() const = 0;
  // Why a read failed: bad_request, upstream_bad_response, upstream_closed or client_gone.
  virtual const ProxyError& failure() const = 0;
};

}  // namespace hedge::proxy::http
