// Bytes in both directions after an upgrade, until both sides have finished.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/task.h"
#include "proxy/stream/buffers.h"
#include "proxy/stream/byte_stream.h"

namespace hedge::proxy {

struct TunnelEnd {
  ByteStream* stream = nullptr;
  // What was received behind this side's head: the tunnel's first bytes.
  std::string_view early;
  // Called once `early` has been sent: what holds it may be given back. May be empty.
  std::function<void()> early_sent;
};

struct TunnelResult {
  std::uint64_t from_client = 0;
  std::uint64_t from_upstream = 0;
};

// A FIN is passed on, and the other direction goes on; an error ends both. There is no idle limit, and the
// tunnel holds no buffer while nothing moves. Afterwards both streams are to be closed. Lifetime: streams, early
// bytes and buffers outlive the await.
Task<TunnelResult> run_tunnel(TunnelEnd client, TunnelEnd upstream, BufferPool& buffers);

}  // namespace hedge::proxy
