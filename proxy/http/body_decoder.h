// The body of one message, whatever tells its end: bytes in, payload out. No I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "proxy/http/chunk_decoder.h"
#include "proxy/http/message.h"

namespace hedge::proxy::http {

class BodyDecoder {
 public:
  using State = ChunkDecoder::State;
  using Decoded = ChunkDecoder::Decoded;

  void start(BodyShape shape);

  // Consumes as much as belongs to the body. `done` may come without payload; a body without bytes is done()
  // at once. Requires: !done() and no failure before.
  Decoded decode(std::span<char> bytes);

  // The peer has ended its stream. True: the body was complete or ends with the stream. False: it was cut
  // short.
  bool finish_at_end_of_stream();

  // With a length: the payload bytes that have not been decoded; 0 where framing lies between them.
  std::uint64_t raw_remaining() const {
    return shape_.framing == Framing::length && !done_ ? remaining_ : 0;
  }
  // So many of them went past the decoder.
  // Requires: bytes <= raw_remaining().
  void skip_raw(std::uint64_t bytes);

  bool done() const { return done_; }
  std::string_view error() const { return chunks_.error(); }
  std::string_view trailer_section() const { return chunks_.trailer_section(); }

 private:
  BodyShape shape_;
  std::uint64_t remaining_ = 0;
  bool done_ = true;
  ChunkDecoder chunks_;
};

}  // namespace hedge::proxy::http
