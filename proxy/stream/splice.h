// A body from one plain socket to another without a copy through our memory.
#pragma once

#include <cstdint>

#include "base/task.h"
#include "proxy/stream/byte_stream.h"
#include "proxy/stream/pipe_pool.h"

namespace hedge::proxy {

// At most so much at once; also the size of the pipes.
inline constexpr std::size_t kSpliceBytes = 256UL << 10;
// Shorter rests of a body are copied: three system calls a piece cost more than the copy.
inline constexpr std::uint64_t kLeastSplice = 32UL << 10;

struct SpliceResult {
  IoResult read;           // not ok: `from` has failed or ended
  IoResult write;          // not ok: `to` has failed
  std::size_t bytes = 0;   // that reached `to`
  bool no_pipe = false;    // no descriptors were left; nothing was moved
};

// Moves one piece of at most `most` bytes: what has arrived, at the receiver's pace. Holds no pipe while it
// waits for the sender.
// Requires: both streams can_splice(), and SIGPIPE is ignored (splice(2) knows no MSG_NOSIGNAL).
Task<SpliceResult> splice_piece(ByteStream& from, ByteStream& to, std::uint64_t most, PipePool& pipes);

}  // namespace hedge::proxy
