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
#include "proxy/http/upstream_call.h"
#include "proxy/stream/byte_stream.h"

namespace hedge::proxy::http {

class Http1Client final : public UpstreamCall {
 public:
  // `text`: what heads and framing are put together in. Lifetime: all outlive the client.
  Http1Client(ByteStream& stream, BufferPool& buffers, std::string& text)
      : stream_(stream),
        text_(text),
        input_(buffers),
        scanner_(MessageKind::response),
        body_(MessageKind::response, stream, input_, buffers) {}

  Task<IoResult> send_head(const RequestHead& head, ConnectionHeader connection, BodyChunk first,
                           const std::vector<Field>& trailers) override;
  Task<IoResult> send_body(BodyChunk chunk, const std::vector<Field>& trailers) override;
  Task<std::optional<ProxyError>> read_head(bool head_request, ResponseHead& out) override;
  BodySource& body() override { return body_; }
  bool response_started() const override { return response_started_; }
  bool was_refused() const override { return false; }
  ByteStream& stream() override { return stream_; }
  std::string_view leftover() const override { return input_.text(); }
  void drop_leftover() override { input_.drop(); }
  bool reusable(const ResponseHead& response) const override;

 private:
  Task<IoResult> send_pieces(BodyChunk chunk, const std::vector<Field>& trailers);
  std::optional<ProxyError> take_head(bool head_request, ResponseHead& out);
  ProxyError closed(const IoResult& result) const;

  ByteStream& stream_;
  std::string& text_;
  InputBuffer input_;
  HeadScanner scanner_;
  Http1Body body_;
  BodyFramer framer_;
  bool response_started_ = false;
};

}  // namespace hedge::proxy::http
