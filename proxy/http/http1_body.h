// The body of an HTTP/1 message that arrives on a stream: of a request at the server, of a response at the
// client.
#pragma once

#include <string>
#include <vector>

#include "proxy/http/body_decoder.h"
#include "proxy/http/body_source.h"
#include "proxy/http/head_scanner.h"
#include "proxy/http/input_buffer.h"
#include "proxy/stream/byte_stream.h"

namespace hedge::proxy::http {

// Takes what the input buffer holds first, then reads into a block of its own, which it gives back at the
// end. Bytes behind the body go (back) to the input buffer.
class Http1Body final : public BodySource {
 public:
  Http1Body(MessageKind kind, ByteStream& stream, InputBuffer& input, BufferPool& buffers)
      : kind_(kind), stream_(stream), input_(input), buffers_(buffers) {}

  // Requires: the head has been consumed from the input buffer.
  void start(BodyShape shape);

  BodyChunk take_buffered() override;
  Task<BodyRead> read() override;
  RawBody raw() override;
  void took_raw(std::uint64_t bytes, IoResult failure) override;
  bool finished() const override { return handed_out_last_; }
  bool failed() const override { return failed_; }
  void release_buffer() override { block_.release(); }
  const std::vector<Field>& trailers() const override { return trailers_; }
  const ProxyError& failure() const override { return failure_; }

  // Payload bytes handed out so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  // Decodes in place and says what is to be handed out; an empty chunk that is not last means to read on.
  BodyRead decode(std::span<char> bytes, std::size_t free_after, std::size_t& consumed);
  BodyRead fail(ProxyReason reason, std::string detail);
  BodyRead fail_read(const IoResult& result);
  BodyRead end_of_stream();
  bool finish();

  MessageKind kind_;
  ByteStream& stream_;
  InputBuffer& input_;
  BufferPool& buffers_;
  BodyDecoder decoder_;
  Block block_;
  std::vector<Field> trailers_;
  ProxyError failure_;
  std::uint64_t bytes_ = 0;
  bool failed_ = false;
  bool handed_out_last_ = true;
};

}  // namespace hedge::proxy::http
