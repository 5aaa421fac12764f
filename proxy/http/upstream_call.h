// One request to an upstream and its response, whatever protocol the upstream speaks: the counterpart of
// Exchange.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "proxy/http/body_source.h"
#include "proxy/http/http1_writer.h"
#include "proxy/http/message.h"
#include "proxy/stream/byte_stream.h"

namespace hedge::proxy::http {

class UpstreamCall {
 public:
  virtual ~UpstreamCall() = default;

  // The head together with the first piece of the body. `bytes` counts what was sent, also on an error.
  // `trailers` are sent with the last piece.
  virtual Task<IoResult> send_head(const RequestHead& head, ConnectionHeader connection, BodyChunk first,
                                   const std::vector<Field>& trailers) = 0;
  virtual Task<IoResult> send_body(BodyChunk chunk, const std::vector<Field>& trailers) = 0;
  // Reads one head, interim or final; with a final one the body is ready.
  // Errors: upstream_closed, upstream_bad_response.
  // Lifetime: `out` refers to the call's buffers until the next call.
  virtual Task<std::optional<ProxyError>> read_head(bool head_request, ResponseHead& out) = 0;
  virtual BodySource& body() = 0;

  // Whether any byte of a response has come: after that a request is never repeated.
  virtual bool response_started() const = 0;
  // The upstream has said that it did nothing about the request.
  virtual bool was_refused() const = 0;
  // What is cancelled to give the call up; after a switch of protocols, the tunnel's end.
  virtual ByteStream& stream() = 0;
  // Bytes behind the last head or body: of a tunnel the first, of anything else a fault.
  virtual std::string_view leftover() const = 0;
  // Nobody needs them any more.
  virtual void drop_leftover() {}
  // The whole response was read and the connection can carry another request.
  virtual bool reusable(const ResponseHead& response) const = 0;
};

}  // namespace hedge::proxy::http
