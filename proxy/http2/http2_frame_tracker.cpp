#include "proxy/http2/http2_frame_tracker.h"

#include <algorithm>

namespace hedge::proxy::http {
namespace {

constexpr unsigned char kHeaders = 0x1;
constexpr unsigned char kPushPromise = 0x5;
constexpr unsigned char kContinuation = 0x9;
constexpr unsigned char kEndHeaders = 0x4;

}  // namespace

void Http2FrameTracker::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (skip_ > 0) {
      const std::size_t skipped = std::min(skip_, bytes.size());
      skip_ -= skipped;
      bytes.remove_prefix(skipped);
    } else {
      header_[header_bytes_++] = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      if (header_bytes_ == kFrameHeaderBytes) header_complete();
    }
    if (skip_ == 0 && ends_head_) head_open_ = ends_head_ = false;
  }
}

void Http2FrameTracker::header_complete() {
  header_bytes_ = 0;
  skip_ = std::size_t{header_[0]} << 16U | std::size_t{header_[1]} << 8U | header_[2];
  const unsigned char type = header_[3];
  if (type != kHeaders && type != kPushPromise && type != kContinuation) return;
  head_open_ = true;
  ends_head_ = (header_[4] & kEndHeaders) != 0;
}

}  // namespace hedge::proxy::http
