// One stream of an HTTP/2 connection as a channel of bytes in each direction, with flow control in both.
// What it carries besides (heads) is its owner's affair.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "proxy/http2/http2_inbox.h"
#include "proxy/http2/http2_session.h"
#include "proxy/stream/byte_stream.h"

namespace hedge::proxy::http {

class Http2Connection;
class Http2SendAwaiter;

// What a stream's owner makes of header blocks. Called from within the session: store and return.
class Http2HeadEvents {
 public:
  virtual ~Http2HeadEvents() = default;
  virtual void head_began() = 0;
  // Lifetime: texts are valid for the call.
  virtual void field_received(std::string_view name, std::string_view value) = 0;
  virtual void bad_field_received() = 0;
  virtual void head_received(bool last) = 0;
};

class Http2Stream final : public ByteStream, private Http2StreamEvents {
 public:
  // `id`: zero on a client until open(). Lifetime: `connection` and `heads` outlive the stream.
  Http2Stream(Http2Connection& connection, std::int32_t id, Http2HeadEvents& heads);
  ~Http2Stream() override;
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  std::int32_t id() const noexcept { return id_; }
  Http2StreamEvents& events() noexcept { return *this; }

  // Heads. They return false when the stream is gone. Lifetime: fields stay unchanged until the send() that
  // follows is over.
  bool submit_response(std::span<const Http2Field> fields, bool has_body);
  bool submit_interim(std::span<const Http2Field> fields);
  bool submit_trailers(std::span<const Http2Field> fields);
  // Opens the stream of a client. False: the connection takes no more.
  bool submit_request(std::span<const Http2Field> fields, bool has_body);

  // Waits until the head submitted before, all of `data` and the end (if one is asked for) have been handed
  // to the connection: at the pace of the peer's window and of the connection's socket. `bytes` is unused.
  Http2SendAwaiter send(std::string_view data, Http2End end) noexcept;
  // The same without waiting; takes from the front of `data`.
  IoResult try_send(std::string_view& data, Http2End end);

  // What has been received, without waiting. Its credit is given back by pass_on().
  Http2Inbox::Piece take_received() { return inbox_.take(); }
  void pass_on(std::size_t bytes);

  // Ends the stream for both sides, unless it has ended already.
  void reset_with(Http2Error error);

  // Makes readable() return although no bytes have come: the owner has received a head.
  void set_news(bool has_news) noexcept { has_news_ = has_news; }

  bool remote_ended() const noexcept { return remote_ended_; }
  bool local_ended() const noexcept { return outgoing_.end_sent; }
  // It ended before both sides had finished, or its connection did.
  bool is_broken() const noexcept { return broken_; }
  // With what error, where it was the peer's reset or refusal.
  std::uint32_t close_error() const noexcept { return close_error_; }

  // ByteStream, for tunnels.
  IoResult try_read(std::span<char> into) override;
  IoResult try_write(std::string_view first, std::string_view second) override;
  IoResult try_shutdown_write() override;
  bool is_readable() const override {
    return !inbox_.empty() || remote_ended_ || closed_ || broken_ || has_news_;
  }
  bool has_buffered() const override { return !inbox_.empty(); }
  void cancel() override;
  void close() override;
  void reset() override { close(); }
  const StreamIdentity& identity() const override;
  void watch_peer(PeerWatcher* watcher) override { watcher_ = watcher; }
  StreamWaiters& waiters() override { return waiters_; }

  // For the connection.

  // The connection is gone; `waiters` are woken by it.
  void connection_lost();
  bool waits_to_write() const noexcept { return waiters_.writer != nullptr; }
  std::size_t position = 0;        // among the connection's streams
  bool queued_to_wake = false;     // in its list of streams that have news
  bool queued_for_room = false;    // in its list of streams that wait for room
  bool queued_for_window = false;  // in its list of streams that wait for the peer's windows
  bool window_opened = false;      // while it waits for that: its own one

 private:
  void head_began() override { heads_.head_began(); }
  void field_received(std::string_view name, std::string_view value) override {
    heads_.field_received(name, value);
  }
  void bad_field_received() override { heads_.bad_field_received(); }
  void head_received(bool last) override;
  void data_received(std::string_view data) override;
  void end_received() override;
  void closed(std::uint32_t error) override;
  void head_sent(bool last) override;
  void window_grew() override;
  Http2Outgoing& outgoing() override { return outgoing_; }

  void broke();
  // Counts what has been submitted and not sent. Returns `submitted`.
  bool begin_head(bool submitted) noexcept;

  Http2Connection& connection_;
  Http2HeadEvents& heads_;
  std::int32_t id_;
  StreamWaiters waiters_;
  PeerWatcher* watcher_ = nullptr;
  Http2Inbox inbox_;
  Http2Outgoing outgoing_;
  std::uint32_t close_error_ = 0;
  int heads_due_ = 0;  // submitted, and not yet sent: an interim one of the edge's own may be among them
  bool has_news_ = false;
  bool remote_ended_ = false;
  bool reset_ = false;  // by us
  bool closed_ = false;
  bool broken_ = false;
};

class [[nodiscard]] Http2SendAwaiter final : PendingIo {
 public:
  Http2SendAwaiter(Http2Stream& stream, std::string_view data, Http2End end) noexcept
      : PendingIo(&attempt_send), stream_(stream), data_(data), end_(end) {}
  Http2SendAwaiter(const Http2SendAwaiter&) = delete;
  Http2SendAwaiter& operator=(const Http2SendAwaiter&) = delete;
  bool await_ready() { return attempt_send(*this); }
  void await_suspend(std::coroutine_handle<> caller) {
    waiter = caller;
    stream_.waiters().writer = this;
  }
  IoResult await_resume() const noexcept { return result_; }

 private:
  static bool attempt_send(PendingIo& self);
  Http2Stream& stream_;
  std::string_view data_;
  Http2End end_;
  IoResult result_;
};

inline Http2SendAwaiter Http2Stream::send(std::string_view data, Http2End end) noexcept {
  return Http2SendAwaiter(*this, data, end);
}

}  // namespace hedge::proxy::http
