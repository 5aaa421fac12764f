// A plain socket as a ByteStream, registered once with the reactor. Remembers readiness, so that it neither
// reads nor writes where the kernel would say EAGAIN.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <sys/socket.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "proxy/stream/byte_stream.h"
#include "proxy/stream/reactor.h"

namespace hedge::proxy {

class ConnectAwaiter;
class SocketStream;

struct ConnectStart {
  std::unique_ptr<SocketStream> stream;  // null: it failed at once
  int error = 0;                         // then the errno
};

class SocketStream final : public ByteStream, public EventSource {
 public:
  // A socket that accept4() gave. Takes the descriptor (non-blocking, close-on-exec).
  // Errors: no_space, if it cannot be registered.
  static Result<std::unique_ptr<SocketStream>> accepted(Reactor& reactor, UniqueFd socket);
  // Starts to connect a new socket; await connected() before anything else.
  static ConnectStart connecting(Reactor& reactor, const sockaddr* address, socklen_t length);
  ~SocketStream() override;

  IoResult try_read(std::span<char> into) override;
  IoResult try_write(std::string_view first, std::string_view second) override;
  IoResult try_shutdown_write() override;
  bool is_readable() const override { return readable_; }
  bool has_buffered() const override { return false; }
  bool can_splice() const override { return true; }
  IoResult try_splice_read(Pipe& pipe, std::size_t most) override;
  IoResult try_splice_write(Pipe& pipe) override;
  void cancel() override;
  void close() override;
  void reset() override;
  const StreamIdentity& identity() const override { return identity_; }
  void watch_peer(PeerWatcher* watcher) override;
  StreamWaiters& waiters() override { return waiters_; }

  // Suspends until the connection stands or failed (`error` holds the errno); bounded by the deadline.
  ConnectAwaiter connected() noexcept;
  // As is_readable(), but the kernel is asked before it says yes: an event that was fetched before the last read
  // sets the flag again although nothing is left.
  bool is_still_readable() noexcept;
  // Looks at the first byte without taking it; -1 if there is none.
  int peek_first_byte() const noexcept;

  // For TlsStream, which waits in this socket's place from here on.
  void wake_instead(StreamWaiters& upper) noexcept { woken_ = &upper; }
  StreamIdentity& mutable_identity() noexcept { return identity_; }
  // Wakes whoever waits, from the reactor.
  void wake_later() { reactor_.wake_later(*this); }

 private:
  friend class ConnectAwaiter;
  SocketStream(Reactor& reactor, UniqueFd socket, bool writable);
  void identify();
  Result<void> start();
  void on_events(std::uint32_t events) override;
  void tell_watcher() noexcept;
  bool turn_is_used_up();
  IoResult connect_result() const noexcept;

  Reactor& reactor_;
  UniqueFd socket_;
  bool readable_ = false;
  bool writable_;
  bool peer_finished_ = false;  // FIN or worse was seen: a short read no longer means that nothing is left
  bool peer_gone_ = false;
  bool told_finished_ = false;
  bool told_gone_ = false;
  bool waits_for_turn_ = false;   // the reactor has been asked for the next one
  std::uint32_t turn_ = 0;        // of the reactor, in which
  std::uint32_t turn_bytes_ = 0;  // so much was read
  PeerWatcher* watcher_ = nullptr;
  StreamWaiters waiters_;
  StreamWaiters* woken_ = &waiters_;
  StreamIdentity identity_;
};

class [[nodiscard]] ConnectAwaiter final : PendingIo {
 public:
  explicit ConnectAwaiter(SocketStream& stream) noexcept : PendingIo(&attempt_connect), stream_(stream) {}
  ConnectAwaiter(const ConnectAwaiter&) = delete;
  ConnectAwaiter& operator=(const ConnectAwaiter&) = delete;
  bool await_ready() { return attempt_connect(*this); }
  void await_suspend(std::coroutine_handle<> caller) {
    waiter = caller;
    stream_.waiters().writer = this;
  }
  IoResult await_resume() const noexcept { return result_; }

 private:
  static bool attempt_connect(PendingIo& self);
  SocketStream& stream_;
  IoResult result_;
};

inline ConnectAwaiter SocketStream::connected() noexcept {
  return ConnectAwaiter(*this);
}

}  // namespace hedge::proxy
