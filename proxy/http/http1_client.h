// One request over one upstream connection, and its response.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "proxy/http/head_scanner.h"
#include "proxy/http/http1_body.h"
#include "proxy/http/http1_writer.h"
#include "proxy/http/input_buffer.h"
#include "proxy/http/message.h"
#include "proxy/stream/byte_stream.h"

namespace hedge::proxy::http {

class Http1Client {
 public:
  Http1Client(ByteStream& stream, BufferPool& buffers)
      : stream_(stream),
        input_(buffers),
        scanner_(MessageKind::response),
        body_(MessageKind::response, stream, input_, buffers) {}

  // `front`: the head, or empty for a later piece. The first call fixes the body's framing. `bytes` counts
  // all that was written, also on an error.
  Task<IoResult> send(std::string& front, BodyChunk chunk, const std::vector<Field>& trailers);
  void start_request(Framing framing) { framer_.start(framing); }

  // Reads one head, interim or final; with a final one the body is ready.
  // Errors: upstream_closed, upstream_bad_response.
  // Lifetime: `out` refers to the connection's buffer until the next call.
  Task<std::optional<ProxyError>> read_head(bool head_request, ResponseHead& out);
  // Whether any byte of a response has come: after that a request is never repeated.
  bool response_started() const noexcept { return response_started_; }

  Http1Body& body() noexcept { return body_; }
  // Bytes behind the last head or body: of a tunnel the first, of anything else a fault.
  std::string_view leftover() const noexcept { return input_.text(); }
  // The whole response was read and the upstream goes on.
  bool reusable(const ResponseHead& response) const;

 private:
  std::optional<ProxyError> take_head(bool head_request, ResponseHead& out);
  ProxyError closed(const IoResult& result) const;

  ByteStream& stream_;
  InputBuffer input_;
  HeadScanner scanner_;
  Http1Body body_;
  BodyFramer framer_;
  bool response_started_ = false;
};

}  // namespace hedge::proxy::http
