// HTTP/1 heads and body framing as bytes. Appends to a string that the caller keeps from message to message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/body_source.h"
#include "proxy/http/message.h"

namespace hedge::proxy::http {

// What the Connection field of a message says.
enum class ConnectionHeader : std::uint8_t { none, close, keep_alive, upgrade };

// The request line and the fields that are not marked `omit`, except those of framing and connection, which
// are written from `head.body`, `head.accepts_trailers` and `connection`: exactly one framing leaves the
// edge. The Host field is written first, with the value of `head.authority`.
void append_request_head(std::string& out, const RequestHead& head, ConnectionHeader connection);

// As above. `shape`: how the body is framed towards this client; the length that is told in a
// response without a body (to HEAD, or a 304) is passed on.
void append_response_head(std::string& out, const ResponseHead& head, BodyShape shape,
                          ConnectionHeader connection);

// The framing of one body, piece by piece, so that a head, a piece and the framing around it leave in one
// write.
class BodyFramer {
 public:
  // At most three pieces, to be sent in order; the third is empty wherever the chunk had room behind it.
  struct Pieces {
    std::string_view first;
    std::string_view second;
    std::string_view third;
  };

  void start(Framing framing) { framing_ = framing; }
  Framing framing() const { return framing_; }

  // `front` holds what is to be sent before the piece (a head, or nothing) and is appended to. `trailers` are
  // sent with the last chunk of a chunked body. The same chunk may be framed again, for a repeated request.
  // Lifetime: the pieces refer to `front`, the chunk and this object.
  Pieces frame(std::string& front, const BodyChunk& chunk, const std::vector<Field>& trailers);

 private:
  Framing framing_ = Framing::none;
  std::string tail_;
};

}  // namespace hedge::proxy::http
