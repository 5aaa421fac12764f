#include "proxy/http2/http2_frame_tracker.h"

#include <algorithm>

namespace hedge::proxy::http {
namespace {

constexpr unsigned char kData = 0x0;
constexpr unsigned char kHeaders = 0x1;
constexpr unsigned char kPriority = 0x2;
constexpr unsigned char kRstStream = 0x3;
constexpr unsigned char kPushPromise = 0x5;
constexpr unsigned char kGoaway = 0x7;
constexpr unsigned char kWindowUpdate = 0x8;
constexpr unsigned char kContinuation = 0x9;
constexpr unsigned char kEndStream = 0x1;
constexpr unsigned char kEndHeaders = 0x4;

bool moves_something(unsigned char type, unsigned char flags, std::size_t length) {
  switch (type) {
    case kData:
      return length > 0 || (flags & kEndStream) != 0;
    case kHeaders:
    case kRstStream:  // has a limit of the library's own
    case kPushPromise:
    case kGoaway:
    case kWindowUpdate:
    case kContinuation:
      return true;
    default:
      return false;
  }
}

// Of a client (RFC 9113, section 3.4).
constexpr std::size_t kPrefaceBytes = 24;

}  // namespace

Http2FrameTracker::Http2FrameTracker(Http2Role role)
    : role_(role), skip_(role == Http2Role::server ? kPrefaceBytes : 0) {}

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
  const std::uint32_t stream = (std::uint32_t{header_[5]} << 24U | std::uint32_t{header_[6]} << 16U |
                                std::uint32_t{header_[7]} << 8U | header_[8]) &
                               0x7fffffffU;
  if (type == kPriority && stream == 0) at_fault_ = true;
  if (type == kHeaders && role_ == Http2Role::server) take_stream(stream);
  if (!moves_something(type, header_[4], skip_)) ++idle_frames_;
  if (type != kHeaders && type != kPushPromise && type != kContinuation) return;
  head_open_ = true;
  ends_head_ = (header_[4] & kEndHeaders) != 0;
}

// RFC 9113, section 5.1.1: numbers only grow.
void Http2FrameTracker::take_stream(std::uint32_t id) {
  if (id > last_stream_) {
    const std::uint32_t expected = last_stream_ == 0 ? 1 : last_stream_ + 2;
    if (id > expected) {
      if (gaps_.size() == kMostGaps) gaps_.erase(gaps_.begin());
      gaps_.push_back({expected, id - 1});
    }
    last_stream_ = id;
    return;
  }
  for (const Gap& gap : gaps_) {
    if (id >= gap.first && id <= gap.last) at_fault_ = true;
  }
}

}  // namespace hedge::proxy::http
