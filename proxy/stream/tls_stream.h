// TLS over a socket. OpenSSL reads and writes the socket through a BIO whose two calls are the socket's own
// tries, so that nothing is copied through memory BIOs and an idle connection holds no record buffer.
#pragma once

#include <coroutine>
#include <span>
#include <string>
#include <string_view>

#include "proxy/stream/byte_stream.h"
#include "proxy/stream/socket_stream.h"
#include "proxy/stream/ssl_ptr.h"

namespace hedge::proxy {

class HandshakeAwaiter;

class TlsStream final : public ByteStream {
 public:
  // `scratch`: one record's worth (16 KiB) that the head and the first piece of a body are put together in;
  // shared by all streams of the worker. Lifetime: `transport`, `deadlines` and `scratch` outlive the stream.
  TlsStream(SocketStream& transport, SslPtr ssl, DeadlineList& deadlines, std::span<char> scratch);
  ~TlsStream() override;

  // As the session's state says: the server's side or the client's. Bounded by the deadline. On failure OpenSSL's reason is in the thread's error queue
  // until the next call into OpenSSL.
  HandshakeAwaiter handshake() noexcept;

  // The name that the client asked for, if it is outside the name constraints of the certificate's issuer, so
  // that every client refuses it. Else empty.
  std::string unpermitted_name() const;
  // Whether the certificate that was shown is not valid any more, by this machine's clock. False if none was.
  bool has_own_certificate_ended() const;

  IoResult try_read(std::span<char> into) override;
  IoResult try_write(std::string_view first, std::string_view second) override;
  IoResult try_shutdown_write() override;
  bool is_readable() const override { return transport_.is_readable() || has_buffered(); }
  bool has_buffered() const override { return SSL_has_pending(ssl_.get()) == 1; }
  void cancel() override;
  void close() override;
  void reset() override;
  const StreamIdentity& identity() const override { return transport_.identity(); }
  void watch_peer(PeerWatcher* watcher) override { transport_.watch_peer(watcher); }
  StreamWaiters& waiters() override { return waiters_; }

 private:
  friend class HandshakeAwaiter;
  friend struct SocketBio;
  IoResult try_handshake();
  IoResult result_of(int ssl_error) noexcept;
  void describe_session();

  SocketStream& transport_;
  SslPtr ssl_;
  StreamWaiters waiters_;
  std::span<char> scratch_;
  IoResult
      transport_failure_;  // the last thing that the socket said, where it was neither bytes nor would-block
  bool established_ = false;
  bool broken_ = false;
};

class [[nodiscard]] HandshakeAwaiter final : PendingIo {
 public:
  explicit HandshakeAwaiter(TlsStream& stream) noexcept : PendingIo(&attempt_handshake), stream_(stream) {}
  HandshakeAwaiter(const HandshakeAwaiter&) = delete;
  HandshakeAwaiter& operator=(const HandshakeAwaiter&) = delete;
  bool await_ready() { return attempt_handshake(*this); }
  void await_suspend(std::coroutine_handle<> caller) {
    waiter = caller;
    stream_.waiters().reader = this;
  }
  IoResult await_resume() const noexcept { return result_; }

 private:
  static bool attempt_handshake(PendingIo& self);
  TlsStream& stream_;
  IoResult result_;
};

inline HandshakeAwaiter TlsStream::handshake() noexcept {
  return HandshakeAwaiter(*this);
}

}  // namespace hedge::proxy
