// A blocking HTTP/2 client, or server, that speaks in frames. Every wait has a limit; what comes is kept for the test.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/http2_frames.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/tls_peer.h"

namespace hedge::test {

// What has come on one stream so far.
struct Http2Answer {
  std::vector<h2::Fields> heads;  // interim heads, the final one, trailers
  std::string body;
  bool ended = false;                     // END_STREAM
  std::optional<std::uint32_t> reset;     // RST_STREAM's code
  std::vector<std::size_t> data_lengths;  // of each DATA frame

  // Of the last head that has a :status.
  int status() const;
  // The first such field of any head; empty if there is none.
  std::string field(const std::string& name) const;
};

class Http2Peer {
 public:
  explicit Http2Peer(std::uint16_t plain_port);
  explicit Http2Peer(std::unique_ptr<TlsPeer> tls);
  // The other side: a server on a connection that was accepted. Reads the preface and sends its settings.
  // Lifetime: `accepted` outlives the peer.
  explicit Http2Peer(PeerConnection& accepted, std::string_view settings = {});

  // The preface and a SETTINGS frame with this payload.
  void start(std::string_view settings = {});
  bool send(std::string_view bytes) { return send_(bytes); }
  bool send_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload = {});
  // HEADERS with END_HEADERS; further flags are added.
  bool send_headers(std::uint32_t stream, const h2::Fields& fields, std::uint8_t flags = h2::kEndStream);
  // DATA within the peer's windows, which it waits for.
  bool send_body(std::uint32_t stream, std::string_view body, bool last = true);
  // More than 16 KiB of fields: HEADERS and CONTINUATION.
  bool send_long_headers(std::uint32_t stream, const h2::Fields& fields, std::uint8_t flags = h2::kEndStream);

  // Reads frames until `true_of_it` says so. False: the limit passed or the connection ended before.
  bool read_until(const std::function<bool()>& true_of_it);
  // Until the stream has ended, one way or the other.
  const Http2Answer& answer(std::uint32_t stream);
  // As a server: until the head of a request has come; its fields, empty if the connection ended before.
  h2::Fields request(std::uint32_t stream);
  // A whole response, also without waiting for windows: bodies are small.
  void respond(std::uint32_t stream, const h2::Fields& fields, std::string_view body = {},
               const h2::Fields& trailers = {});
  // Until the headers of the final response are there.
  const Http2Answer& head(std::uint32_t stream);
  const Http2Answer& so_far(std::uint32_t stream) { return answers_[stream]; }
  // True: GOAWAY or the end of the connection came.
  bool wait_for_goaway();
  bool wait_for_end();
  // A PING came back: everything sent before has been taken.
  bool ping();

  std::optional<std::uint32_t> goaway_code() const { return goaway_code_; }
  std::uint32_t goaway_last_stream() const { return goaway_last_stream_; }
  int goaways() const { return goaways_; }
  bool ended() const { return ended_; }
  bool settings_acknowledged() const { return settings_acknowledged_; }
  // What the peer has announced.
  const std::map<std::uint16_t, std::uint32_t>& settings() const { return settings_; }
  std::int64_t connection_window() const { return connection_window_; }
  std::int64_t stream_window(std::uint32_t stream);
  const std::vector<h2::Frame>& frames() const { return frames_; }
  // Credit for what is received is given at once, unless a test wants it otherwise.
  void hold_credit() { gives_credit_ = false; }
  void give_credit(std::uint32_t stream, std::uint32_t bytes);
  PeerConnection* plain() { return plain_.get(); }

 private:
  bool read_frame();
  void take(const h2::Frame& frame);
  void take_header_block(const h2::Frame& frame);
  void take_settings(const h2::Frame& frame);

  std::unique_ptr<PeerConnection> plain_;  // null: over TLS, or accepted
  std::unique_ptr<TlsPeer> tls_;
  std::function<bool(std::string_view)> send_;
  std::function<std::string(std::size_t)> read_;
  h2::HeaderDecoder decoder_;
  std::map<std::uint32_t, Http2Answer> answers_;
  std::map<std::uint32_t, std::int64_t> windows_;  // relative to the initial one
  std::map<std::uint16_t, std::uint32_t> settings_;
  std::vector<h2::Frame> frames_;
  std::string open_block_;
  std::int64_t connection_window_ = 65'535;
  std::optional<std::uint32_t> goaway_code_;
  std::uint32_t goaway_last_stream_ = 0;
  int goaways_ = 0;
  int pings_ = 0;
  bool settings_acknowledged_ = false;
  bool gives_credit_ = true;
  bool ended_ = false;
};

}  // namespace hedge::test
