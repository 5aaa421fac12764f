// What both ends of an HTTP/2 connection have in common: the session on a stream of bytes, one gathered write
// a turn of the reactor, and the order in which waiting streams go on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "base/task_group.h"
#include "proxy/http2/http2_session.h"
#include "proxy/stream/buffers.h"
#include "proxy/stream/byte_stream.h"
#include "proxy/stream/reactor.h"

namespace hedge::proxy::http {

class Http2Stream;

// What the connection tells its owner.
class Http2ConnectionEvents {
 public:
  virtual ~Http2ConnectionEvents() = default;
  // A request begins (only on a server); called from within the session: store and return. Null refuses it.
  virtual Http2StreamEvents* stream_began(std::int32_t id) = 0;
  // Bytes have been taken in: new requests may be complete. Called on the reader's stack.
  virtual void received() = 0;
  virtual void shutdown_acknowledged() = 0;
  virtual void goaway_received() = 0;
  // Before the connection waits for more: the place to set deadlines.
  virtual void about_to_wait() = 0;
};

class Http2Connection final : private EventSource, private Http2SessionEvents {
 public:
  // How long a connection that is over waits for the peer to close it, too.
  static constexpr std::chrono::milliseconds kCloseLimit{1000};

  // Lifetime: everything referred to outlives the connection.
  Http2Connection(Http2Role role, ByteStream& transport, Reactor& reactor, BufferPool& buffers,
                  Http2ConnectionEvents& events);
  ~Http2Connection() override;
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  // Serves until the transport ends, after `early`, which was received before. All streams are broken
  // afterwards; finish() must follow.
  Task<void> run(std::string_view early);
  // Waits for the last write, which run() has ended.
  Task<void> finish();

  Http2Session& session() noexcept { return session_; }
  const Http2Session& session() const noexcept { return session_; }
  ByteStream& transport() noexcept { return transport_; }
  BufferPool& buffers() noexcept { return buffers_; }
  Reactor& reactor() noexcept { return reactor_; }
  // No frame goes out any more.
  bool is_dead() const noexcept { return dead_; }
  // It goes on only until what is under way has ended.
  bool is_closing() const noexcept { return closing_; }
  std::size_t open_streams() const noexcept { return streams_.size(); }

  // For streams.

  void enter(Http2Stream& stream);
  void leave(Http2Stream& stream) noexcept;
  // Frames that wait go into the output, as far as there is room; the write follows at the end of the turn.
  void produce();
  // The end of this turn is worth a look.
  void schedule();
  // Lets whoever waits on the stream try again, at the end of this turn at the latest.
  void wake(Http2Stream& stream);
  // Wakes it once the output has room, and those before it have had their turn.
  void wait_for_room(Http2Stream& stream);
  // The same once the peer's windows have grown: whoever has waited longest goes first.
  void wait_for_window(Http2Stream& stream);
  void window_opened(Http2Stream& stream) noexcept;
  // True, once: the stream has been woken because its turn to use the room has come.
  bool take_turn(const Http2Stream& stream) noexcept;
  bool lacks_room() const noexcept { return room() < Http2Session::kLeastRoom; }
  bool others_wait_for_room() const noexcept { return fair_shares_ || !waiting_for_room_.empty(); }

 private:
  static constexpr int kMostRoundsATurn = 16;

  Http2StreamEvents* stream_began(std::int32_t id) override { return events_.stream_began(id); }
  void windows_grew() override { all_windows_grew_ = true; }
  void shutdown_acknowledged() override { events_.shutdown_acknowledged(); }
  void goaway_received() override { events_.goaway_received(); }
  void on_events(std::uint32_t events) override;

  // False: the transport has ended.
  Task<bool> read_once();
  void take_in(std::string_view bytes);
  void say_goodbye();
  void deliver();
  void wake_ready();
  void serve_waiting_for_window();
  bool serve_waiting_for_room();
  std::size_t room() const noexcept;
  void flush();
  Task<void> finish_write();
  void die();
  void end_if_over();

  ByteStream& transport_;
  Reactor& reactor_;
  BufferPool& buffers_;
  Http2ConnectionEvents& events_;
  Http2Session session_;
  std::vector<Http2Stream*> streams_;             // each knows its position
  std::vector<Http2Stream*> ready_;               // to be woken; null: has left
  std::vector<Http2Stream*> waiting_for_room_;    // in the order in which they are served
  std::vector<Http2Stream*> serving_;             // those of them whose turn it is; null: has left
  std::vector<Http2Stream*> waiting_for_window_;  // in the order in which they began to wait
  const Http2Stream* turn_of_ = nullptr;
  bool fair_shares_ = false;
  Block output_;
  std::size_t output_begin_ = 0;
  std::size_t output_end_ = 0;
  TaskGroup writer_;
  bool scheduled_ = false;
  bool a_window_grew_ = false;
  bool all_windows_grew_ = false;
  bool faulty_ = false;   // the peer broke the protocol: nothing of it is taken any more
  bool closing_ = false;  // our side of the transport is shut
  bool dead_ = false;
};

}  // namespace hedge::proxy::http
