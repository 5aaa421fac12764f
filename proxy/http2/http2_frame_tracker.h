// Where in the sequence of frames the received bytes end, and what libnghttp2 does not tell of them:
// deadlines and limits need to know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hedge::proxy::http {

enum class Http2Role : std::uint8_t { server, client };

class Http2FrameTracker {
 public:
  // `role`: ours, the one that receives.
  explicit Http2FrameTracker(Http2Role role);

  void feed(std::string_view bytes);
  // The last frame (or the preface) has not come to its end.
  bool is_within_frame() const noexcept { return skip_ > 0 || header_bytes_ > 0; }
  // A header block has begun and not ended: nothing else may come before its end.
  bool is_within_head() const noexcept { return head_open_; }
  // Frames since the last call that move nothing: the library drops some of them without a word.
  std::size_t take_idle_frames() noexcept { return std::exchange(idle_frames_, 0); }
  // A frame has come that the library ignores and RFC 9113 calls a connection error of the type
  // PROTOCOL_ERROR.
  bool is_at_fault() const noexcept { return at_fault_; }

 private:
  static constexpr std::size_t kFrameHeaderBytes = 9;
  // Stream numbers that a client has skipped; it may not come back to them.
  struct Gap {
    std::uint32_t first;
    std::uint32_t last;
  };
  static constexpr std::size_t kMostGaps = 16;

  void header_complete();
  void take_stream(std::uint32_t id);

  Http2Role role_;
  std::size_t skip_;  // bytes until the next frame
  std::size_t header_bytes_ = 0;
  unsigned char header_[kFrameHeaderBytes] = {};
  std::size_t idle_frames_ = 0;
  std::uint32_t last_stream_ = 0;
  std::vector<Gap> gaps_;  // the last few
  bool head_open_ = false;
  bool ends_head_ = false;  // the current frame, once complete, ends the header block
  bool at_fault_ = false;
};

}  // namespace hedge::proxy::http
