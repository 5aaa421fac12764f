// HTTP/2 framing of one connection: bytes in, events out, and the other way round. The only place that knows
// libnghttp2; it does no I/O of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "proxy/http2/http2_frame_tracker.h"
#include "proxy/stream/deadline_list.h"

namespace hedge::proxy::http {

// RFC 9113, section 7.
enum class Http2Error : std::uint32_t {
  no_error = 0x0,
  protocol_error = 0x1,
  internal_error = 0x2,
  flow_control_error = 0x3,
  stream_closed = 0x5,
  refused_stream = 0x7,
  cancel = 0x8,
  enhance_your_calm = 0xb,
};

// Streams that a peer may have open at once. Browsers and load generators use up to 100.
inline constexpr std::uint32_t kHttp2MostStreams = 128;
// What a stream may send before we take it: one body block of the worker.
inline constexpr std::uint32_t kHttp2StreamWindow = 65'535;
// Replenished as bytes arrive, so that it bounds what is under way and not what one stream keeps waiting.
inline constexpr std::int32_t kHttp2ConnectionWindow = 1 << 20;

// The first bytes of a client (RFC 9113, section 3.4).
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Names in lower case, pseudo-fields first.
struct Http2Field {
  std::string_view name;
  std::string_view value;
};

enum class Http2End : std::uint8_t { none, stream, trailers };

// What a stream offers to send at the moment; the session takes from its front.
struct Http2Outgoing {
  std::string_view data;
  Http2End end = Http2End::none;  // what follows the data
  bool end_sent = false;          // with Http2End::trailers: all data has been taken
};

// One stream, as the session tells about it. Called from within receive() and produce(): it stores and
// returns, and calls nothing of the session.
class Http2StreamEvents {
 public:
  virtual ~Http2StreamEvents() = default;

  // A header block: of a request, a response (interim or final) or trailers. Lifetime: texts are valid for
  // the call.
  virtual void head_began() = 0;
  virtual void field_received(std::string_view name, std::string_view value) = 0;
  // A field that must not be in any message (RFC 9113, section 8.2.1). The block goes on.
  virtual void bad_field_received() = 0;
  // `last`: nothing follows on this stream.
  virtual void head_received(bool last) = 0;
  virtual void data_received(std::string_view data) = 0;
  // Nothing follows on this stream.
  virtual void end_received() = 0;
  // The session does not know the stream any more.
  virtual void closed(std::uint32_t error) = 0;
  // A header block of ours has been produced; `last`: it ended our side.
  virtual void head_sent(bool last) = 0;
  // The peer takes more than before.
  virtual void window_grew() = 0;
  virtual Http2Outgoing& outgoing() = 0;
};

class Http2SessionEvents {
 public:
  virtual ~Http2SessionEvents() = default;
  // A request begins (only on a server). Null refuses it. Lifetime: the stream lives until forget() or
  // closed().
  virtual Http2StreamEvents* stream_began(std::int32_t id) = 0;
  // Every stream's window may have grown.
  virtual void windows_grew() = 0;
  // After begin_shutdown(): the peer knows, and whatever it sent before has been received.
  virtual void shutdown_acknowledged() = 0;
  // The peer takes no new streams.
  virtual void goaway_received() = 0;
};

class Http2Session {
 public:
  // The least room that produce() makes use of: one frame of the usual largest size.
  static constexpr std::size_t kLeastRoom = (16U << 10) + 9 + 1;

  // Lifetime: `events` outlives the session.
  Http2Session(Http2Role role, Http2SessionEvents& events);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // False: the connection is at fault and over; what produce() still gives (a GOAWAY) is to be sent first.
  bool receive(std::string_view bytes, Millis now);
  // Writes frames to the front of `room` and returns how many bytes. Zero if nothing is to be sent, or if
  // there is less than kLeastRoom.
  std::size_t produce(std::span<char> room);
  // Neither side wants anything any more: close.
  bool is_over() const;
  // What has been produced cannot be continued: close at once.
  bool is_broken() const;
  // Bytes of an unfinished frame or header block have come: the rest is due.
  bool is_within_frame() const;
  bool is_within_head() const;

  // All return false when the stream is gone. Lifetime: names and values stay unchanged until
  // head_sent(), or the end of the stream.
  bool submit_response(std::int32_t id, std::span<const Http2Field> fields, Http2StreamEvents& stream,
                       bool has_body);
  bool submit_interim(std::int32_t id, std::span<const Http2Field> fields);
  bool submit_trailers(std::int32_t id, std::span<const Http2Field> fields);
  // Absent: no stream can be opened on this connection any more.
  std::optional<std::int32_t> submit_request(std::span<const Http2Field> fields, Http2StreamEvents& stream,
                                             bool has_body);

  // The stream's outgoing() has something new.
  void resume(std::int32_t id);
  // `bytes` of the stream's data have been passed on.
  void consume(std::int32_t id, std::size_t bytes);
  void reset(std::int32_t id, Http2Error error);
  // No event reaches the stream any more.
  void forget(std::int32_t id);
  std::size_t send_window(std::int32_t id) const;

  // Tells the peer to open no more streams; those under way are still taken. finish_shutdown() follows once
  // they have arrived.
  void begin_shutdown();
  void finish_shutdown();
  // GOAWAY; everything ends.
  void terminate(Http2Error error);

  // The peer's settings; before they have come, what the protocol takes for granted.
  bool has_peer_settings() const;
  std::uint32_t peer_most_streams() const;
  bool peer_takes_extended_connect() const;

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace hedge::proxy::http
