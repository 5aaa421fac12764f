// The waist of the edge: everything above it reads and writes bytes, whatever carries them.
//
// Two non-blocking virtual calls; the awaited forms try them first and suspend only when they would block.
// What resumes them tries again first, so that no coroutine is woken for nothing. No frame is allocated.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "proxy/stream/io_result.h"
#include "proxy/stream/stream_waiters.h"

namespace hedge::proxy {

// Who is at the other end, and over what.
struct StreamIdentity {
  std::string peer_ip;  // as text, without brackets; empty for a unix socket
  std::uint16_t peer_port = 0;
  std::uint16_t local_port = 0;
  bool peer_is_loopback = false;
  bool tls = false;
  std::string alpn;         // negotiated protocol; empty if none
  std::string server_name;  // SNI in lower case without a trailing dot; empty if none
};

// Told when the peer of a connection goes away, or when the connection is cancelled, whoever waits meanwhile.
// Called from the reactor, so it may cancel streams, and must not destroy any.
class PeerWatcher {
 public:
  virtual ~PeerWatcher() = default;
  // The peer has finished sending (FIN). It may still read.
  virtual void peer_finished() = 0;
  // The connection is dead in both directions (RST, or both FINs).
  virtual void peer_gone() = 0;
};

class Pipe;
class ReadAwaiter;
class ReadableAwaiter;
class WriteAwaiter;
class ShutdownAwaiter;

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // At most `into.size()` bytes. `ok` with at least one byte, `end`, `would_block`, or an error.
  // Requires: `into` is not empty.
  virtual IoResult try_read(std::span<char> into) = 0;
  // Some bytes of `first` followed by `second`, in one system call and, on TLS, one record where both fit.
  // After would_block the next call must offer the same bytes again (TLS has already encrypted them).
  virtual IoResult try_write(std::string_view first, std::string_view second) = 0;
  // Tells the peer that nothing more comes (FIN; on TLS a close_notify before it). Reading goes on.
  virtual IoResult try_shutdown_write() = 0;
  // Whether a read would probably not block: bytes, the end or an error wait.
  virtual bool is_readable() const = 0;
  // Whether bytes that were received already wait above the socket (a TLS record read ahead).
  virtual bool has_buffered() const = 0;

  // Whether bytes can be moved between this stream and a pipe inside the kernel; the two calls below are for
  // streams that can, and fail with EINVAL on others.
  virtual bool can_splice() const { return false; }
  // At most `most` bytes into the pipe. As try_read().
  // Requires: the pipe is empty.
  virtual IoResult try_splice_read(Pipe& pipe, std::size_t most);
  // Some of what the pipe holds. As try_write(), but nothing has to be offered again.
  virtual IoResult try_splice_write(Pipe& pipe);

  // Gives the connection up at once; idempotent. A waiting coroutine is resumed with `cancelled` from the
  // reactor, not from inside this call.
  virtual void cancel() = 0;
  // Closes the descriptor; on TLS a close_notify is tried first. Idempotent.
  // Requires: nobody waits on the stream.
  virtual void close() = 0;
  // Closes with RST, so that the peer cannot take a cut-off body for a whole one.
  // Requires: nobody waits on the stream.
  virtual void reset() = 0;

  virtual const StreamIdentity& identity() const = 0;
  // At most one watcher; null takes it away.
  virtual void watch_peer(PeerWatcher* watcher) = 0;
  virtual StreamWaiters& waiters() = 0;

  // Some bytes; suspends while there are none. The status is never would_block.
  ReadAwaiter read_some(std::span<char> into) noexcept;
  // All bytes of both pieces; suspends while the socket is full. `bytes` counts what was written, also on an
  // error. Lifetime: both pieces stay unchanged until the await is over.
  WriteAwaiter write(std::string_view first, std::string_view second) noexcept;
  WriteAwaiter write(std::string_view bytes) noexcept;
  // Suspends until a read would not block. Holds nothing meanwhile: lease a buffer after it.
  ReadableAwaiter readable() noexcept;
  ShutdownAwaiter shutdown_write() noexcept;

  // Bounds every wait on this stream until it is set anew or cleared; coarse, up to one second late.
  void set_deadline(std::chrono::milliseconds from_now) { waiters().set_deadline(from_now); }
  void clear_deadline() { waiters().clear_deadline(); }
};

class [[nodiscard]] ReadAwaiter final : PendingIo {
 public:
  ReadAwaiter(ByteStream& stream, std::span<char> into) noexcept
      : PendingIo(&attempt_read), stream_(stream), into_(into) {}
  ReadAwaiter(const ReadAwaiter&) = delete;
  ReadAwaiter& operator=(const ReadAwaiter&) = delete;
  bool await_ready() { return attempt_read(*this); }
  void await_suspend(std::coroutine_handle<> caller) {
    waiter = caller;
    stream_.waiters().reader = this;
  }
  IoResult await_resume() const noexcept { return result_; }

 private:
  static bool attempt_read(PendingIo& self);
  ByteStream& stream_;
  std::span<char> into_;
  IoResult result_;
};

class [[nodiscard]] ReadableAwaiter final : PendingIo {
 public:
  explicit ReadableAwaiter(ByteStream& stream) noexcept : PendingIo(&attempt_readable), stream_(stream) {}
  ReadableAwaiter(const ReadableAwaiter&) = delete;
  ReadableAwaiter& operator=(const ReadableAwaiter&) = delete;
  bool await_ready() { return attempt_readable(*this); }
  void await_suspend(std::coroutine_handle<> caller) {
    waiter = caller;
    stream_.waiters().reader = this;
  }
  // ok, timed_out or cancelled; an end or error is left to the read that follows.
  IoResult await_resume() const noexcept { return result_; }

 private:
  static bool attempt_readable(PendingIo& self);
  ByteStream& stream_;
  IoResult result_;
};

class [[nodiscard]] WriteAwaiter final : PendingIo {
 public:
  WriteAwaiter(ByteStream& stream, std::string_view first, std::string_view second) noexcept
      : PendingIo(&attempt_write), stream_(stream), first_(first), second_(second) {}
  WriteAwaiter(const WriteAwaiter&) = delete;
  WriteAwaiter& operator=(const WriteAwaiter&) = delete;
  bool await_ready() { return attempt_write(*this); }
  void await_suspend(std::coroutine_handle<> caller) {
    waiter = caller;
    stream_.waiters().writer = this;
  }
  IoResult await_resume() const noexcept { return {result_.status, result_.error, written_}; }

 private:
  static bool attempt_write(PendingIo& self);
  ByteStream& stream_;
  std::string_view first_;
  std::string_view second_;
  std::size_t written_ = 0;
  IoResult result_;
};

class [[nodiscard]] ShutdownAwaiter final : PendingIo {
 public:
  explicit ShutdownAwaiter(ByteStream& stream) noexcept : PendingIo(&attempt_shutdown), stream_(stream) {}
  ShutdownAwaiter(const ShutdownAwaiter&) = delete;
  ShutdownAwaiter& operator=(const ShutdownAwaiter&) = delete;
  bool await_ready() { return attempt_shutdown(*this); }
  void await_suspend(std::coroutine_handle<> caller) {
    waiter = caller;
    stream_.waiters().writer = this;
  }
  IoResult await_resume() const noexcept { return result_; }

 private:
  static bool attempt_shutdown(PendingIo& self);
  ByteStream& stream_;
  IoResult result_;
};

inline ReadAwaiter ByteStream::read_some(std::span<char> into) noexcept {
  return ReadAwaiter(*this, into);
}
inline WriteAwaiter ByteStream::write(std::string_view first, std::string_view second) noexcept {
  return WriteAwaiter(*this, first, second);
}
inline WriteAwaiter ByteStream::write(std::string_view bytes) noexcept {
  return WriteAwaiter(*this, bytes, {});
}
inline ReadableAwaiter ByteStream::readable() noexcept {
  return ReadableAwaiter(*this);
}
inline ShutdownAwaiter ByteStream::shutdown_write() noexcept {
  return ShutdownAwaiter(*this);
}

}  // namespace hedge::proxy
