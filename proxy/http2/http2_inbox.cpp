#include "proxy/http2/http2_inbox.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace hedge::proxy::http {

void Http2Inbox::append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (block_.size() - end_ < bytes.size()) make_room(bytes.size());
  std::memcpy(block_.data() + end_, bytes.data(), bytes.size());
  end_ += bytes.size();
}

void Http2Inbox::make_room(std::size_t bytes) {
  const std::size_t held = end_ - begin_;
  assert(held + bytes <= kBodyBlockBytes && "flow control bounds what a stream sends");
  if (held + bytes <= block_.size()) {
    std::memmove(block_.data(), block_.data() + begin_, held);
  } else {
    // Most bodies are small; a window's worth is leased only for what needs it.
    Block larger = held + bytes <= kHeadBlockBytes ? buffers_.lease_head() : buffers_.lease_body();
    if (held > 0) std::memcpy(larger.data(), block_.data() + begin_, held);
    block_ = std::move(larger);
  }
  begin_ = 0;
  end_ = held;
}

Http2Inbox::Piece Http2Inbox::take() {
  if (begin_ > 0) make_room(0);
  Piece piece{std::move(block_), end_};
  begin_ = end_ = 0;
  return piece;
}

std::size_t Http2Inbox::read(std::span<char> into) {
  const std::size_t bytes = std::min(into.size(), end_ - begin_);
  if (bytes > 0) std::memcpy(into.data(), block_.data() + begin_, bytes);
  begin_ += bytes;
  if (empty()) clear();
  return bytes;
}

void Http2Inbox::clear() noexcept {
  block_.release();
  begin_ = end_ = 0;
}

}  // namespace hedge::proxy::http
