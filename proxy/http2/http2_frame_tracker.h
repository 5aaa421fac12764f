// Where in the sequence of frames the received bytes end. Deadlines need to know; libnghttp2 does not tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hedge::proxy::http {

class Http2FrameTracker {
 public:
  // `preface_bytes`: how many come before the first frame.
  explicit Http2FrameTracker(std::size_t preface_bytes) : skip_(preface_bytes) {}

  void feed(std::string_view bytes);
  // The last frame (or the preface) has not come to its end.
  bool is_within_frame() const noexcept { return skip_ > 0 || header_bytes_ > 0; }
  // A header block has begun and not ended: nothing else may come before its end.
  bool is_within_head() const noexcept { return head_open_; }

 private:
  static constexpr std::size_t kFrameHeaderBytes = 9;
  void header_complete();

  std::size_t skip_;  // bytes until the next frame
  std::size_t header_bytes_ = 0;
  unsigned char header_[kFrameHeaderBytes] = {};
  bool head_open_ = false;
  bool ends_head_ = false;  // the current frame, once complete, ends the header block
};

}  // namespace hedge::proxy::http
