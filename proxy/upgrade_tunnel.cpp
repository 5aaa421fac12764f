#include "proxy/upgrade_tunnel.h"

#include <utility>

#include "base/task_group.h"

namespace hedge::proxy {
namespace {

// One direction. True: it ended with the sender's FIN, which was passed on.
Task<bool> copy(TunnelEnd from, ByteStream& to, BufferPool& buffers, std::uint64_t& bytes) {
  if (!from.early.empty()) {
    const IoResult sent = co_await to.write(from.early);
    bytes += sent.bytes;
    if (!sent.ok()) co_return false;
  }
  if (from.early_sent) from.early_sent();
  for (;;) {
    const IoResult waited = co_await from.stream->readable();
    if (!waited.ok()) co_return false;
    // Leased only while bytes move: thousands of silent WebSockets hold nothing.
    const Block block = buffers.lease_head();
    const IoResult got = co_await from.stream->read_some(block.bytes());
    if (got.status == IoStatus::end) {
      const IoResult ended = co_await to.shutdown_write();
      co_return ended.ok();
    }
    if (!got.ok()) co_return false;
    const std::string_view received(block.data(), got.bytes);
    const IoResult sent = co_await to.write(received);
    bytes += sent.bytes;
    if (!sent.ok()) co_return false;
  }
}

// An error in one direction leaves no use for the other.
Task<void> copy_or_cancel(TunnelEnd from, ByteStream* to, BufferPool& buffers, std::uint64_t& bytes) {
  ByteStream* const sender = from.stream;
  const bool clean = co_await copy(std::move(from), *to, buffers, bytes);
  if (clean) co_return;
  sender->cancel();
  to->cancel();
}

}  // namespace

Task<TunnelResult> run_tunnel(TunnelEnd client, TunnelEnd upstream, BufferPool& buffers) {
  TunnelResult result;
  ByteStream* const to_client = client.stream;
  ByteStream* const to_upstream = upstream.stream;
  to_client->clear_deadline();
  to_upstream->clear_deadline();
  TaskGroup other_direction;
  other_direction.spawn(copy_or_cancel(std::move(client), to_upstream, buffers, result.from_client));
  co_await copy_or_cancel(std::move(upstream), to_client, buffers, result.from_upstream);
  co_await other_direction.join();
  co_return result;
}

}  // namespace hedge::proxy
