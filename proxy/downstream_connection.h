// One client's connection: from accept to the last byte. A local variable of the coroutine that serves it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/task.h"
#include "proxy/stream/byte_stream.h"
#include "proxy/stream/deadline_list.h"

namespace hedge::proxy {

class EdgeWorker;
class SocketStream;
class TlsStream;

// What a listener was opened for; either takes both, told apart by the first byte.
enum class ListenerKind : std::uint8_t { plain, tls };

class DownstreamConnection {
 public:
  DownstreamConnection(EdgeWorker& worker, std::unique_ptr<SocketStream> socket, ListenerKind listener);
  ~DownstreamConnection();
  DownstreamConnection(const DownstreamConnection&) = delete;
  DownstreamConnection& operator=(const DownstreamConnection&) = delete;

  // Waits for the first bytes, detects the protocol and shakes hands. False: the connection is over before it
  // began. Bounded by the handshake's or the idle limit.
  Task<bool> open();

  // For the protocol's server, from here on.

  ByteStream& stream() noexcept { return *stream_; }
  // Plain bytes arrived on a TLS port: send requests to https (307/308), but serve upgrades.
  bool wants_https() const noexcept { return wants_https_; }

  // Three states, which only move the connection's deadline. The usual turn of a protocol's server:
  //   begin_idle(); co_await stream().readable(); begin_request_head(); … read the head … end_request_head();
  //   exchange.
  // Idle: waiting for a request's first byte, at most the idle limit. A drain ends the wait with `cancelled`,
  // also one that began earlier: anything but `ok` means to close without a word. Only the first request of a
  // connection that was just being opened is waited for even then, for a moment.
  void begin_idle();
  // The head must be complete within the limit from here: call it with the first byte (also when that is in a
  // buffer).
  void begin_request_head();
  // No deadline on bodies, streams and tunnels.
  void end_request_head();
  // The worker drains: ends the connection if it is between requests and the next has not begun to arrive. One
  // that has never had a request keeps what is left of a moment since it was accepted: its client was let in
  // just now and is about to send.
  void begin_drain();
  // For the worker's list of connections.
  std::size_t position = 0;

 private:
  // Until a request must begin: the usual limit, or the short one of a drain.
  std::chrono::milliseconds idle_limit(std::chrono::milliseconds usual) const;
  // How long a drain still waits for the first request. Not above zero: no longer.
  std::chrono::milliseconds first_request_left() const;
  Task<bool> shake_hands();

  EdgeWorker& worker_;
  std::unique_ptr<SocketStream> socket_;
  std::unique_ptr<TlsStream> tls_;
  ByteStream* stream_ = nullptr;
  Millis accepted_at_;
  ListenerKind listener_;
  bool wants_https_ = false;
  bool idle_ = false;
  bool had_request_ = false;
};

}  // namespace hedge::proxy
