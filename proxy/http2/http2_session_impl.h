// What is behind Http2Session; included by its two sources alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "proxy/http2/http2_flood_guard.h"
#include "proxy/http2/http2_session.h"

namespace hedge::proxy::http {

inline constexpr std::size_t kHttp2FrameHeaderBytes = 9;

class Http2Session::Impl {
 public:
  Impl(Http2Role role, Http2SessionEvents& events);

  bool receive(std::string_view bytes, Millis now);
  std::size_t produce(std::span<char> room);
  std::vector<nghttp2_nv>& name_values(std::span<const Http2Field> fields);
  static nghttp2_data_provider provider(Http2StreamEvents& stream);

  nghttp2_session* get() const { return session_.get(); }
  const Http2FrameTracker& tracker() const { return tracker_; }
  bool is_broken() const { return broken_; }

  // For the callbacks.

  Http2SessionEvents& events() { return events_; }
  // How much a DATA frame of the running produce() may carry.
  std::size_t room_for_data() const;
  // A DATA frame, into that room. False: it does not fit.
  bool put(std::string_view frame_header, std::string_view data);
  // A frame that moves nothing; too many of them end the connection.
  void count_idle_frame();
  // Ours or the library's.
  void reset_sent(std::uint32_t error);
  void goaway_sent();
  enum class Shutdown : std::uint8_t { none, notice_due, ping_sent };
  Shutdown shutdown = Shutdown::none;
  bool has_peer_settings = false;

 private:
  struct FreeSession {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  void announce(Http2Role role);
  void fail(std::uint32_t error);

  Http2SessionEvents& events_;
  std::unique_ptr<nghttp2_session, FreeSession> session_;
  Http2FrameTracker tracker_;
  Http2FloodGuard idle_frames_;
  Millis now_ = 0;
  std::vector<nghttp2_nv> name_values_;
  std::span<char> room_;      // what produce() may still fill
  std::size_t produced_ = 0;  // by the running call
  bool faulty_ = false;
  bool broken_ = false;
};

// What the library calls; they store, pass on and return.
struct Http2Callbacks {
  // One set for all sessions.
  static const nghttp2_session_callbacks* all();
  // How much a stream has for its next DATA frame.
  static ssize_t read_data(nghttp2_session* session, std::int32_t id, std::uint8_t* buffer, std::size_t most,
                           std::uint32_t* flags, nghttp2_data_source* source, void* user);
};

}  // namespace hedge::proxy::http
