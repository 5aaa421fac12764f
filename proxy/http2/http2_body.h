// The body that arrives on a stream: of a request at the server, of a response at the client.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "proxy/http/body_source.h"
#include "proxy/http2/http2_stream.h"

namespace hedge::proxy::http {

class Http2Body final : public BodySource {
 public:
  // `when_broken`: client_gone or upstream_closed. `trailers` are complete once the stream's remote side has
  // ended. Lifetime: both outlive the body.
  Http2Body(Http2Stream& stream, const std::vector<Field>& trailers, ProxyReason when_broken)
      : stream_(stream), trailers_(trailers), when_broken_(when_broken) {}

  // After the head.
  void start() { finished_ = false; }
  // It does not count as whole, although its stream may end: the trailers are bad.
  void fail(ProxyError why) {
    failure_ = std::move(why);
    spoiled_ = true;
  }

  BodyChunk take_buffered() override;
  Task<BodyRead> read() override;
  bool finished() const override { return finished_; }
  bool failed() const override { return failed_; }
  void release_buffer() override { pass_on(); }
  const std::vector<Field>& trailers() const override { return trailers_; }
  const ProxyError& failure() const override { return failure_; }

 private:
  BodyChunk take();
  void pass_on();

  Http2Stream& stream_;
  const std::vector<Field>& trailers_;
  ProxyReason when_broken_;
  Http2Inbox::Piece piece_;  // handed out; its credit is given back when the next one is asked for
  ProxyError failure_;
  bool finished_ = true;
  bool failed_ = false;
  bool spoiled_ = false;  // to be told at the next read
};

}  // namespace hedge::proxy::http
