// What one stream has received and nobody has taken yet: at most its window, in one block of the worker.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "proxy/stream/buffers.h"

namespace hedge::proxy::http {

class Http2Inbox {
 public:
  // A block with bytes at its front, to be kept as long as they are used.
  struct Piece {
    Block block;
    std::size_t bytes = 0;
  };

  explicit Http2Inbox(BufferPool& buffers) : buffers_(buffers) {}

  bool empty() const noexcept { return begin_ == end_; }
  // Requires: no more than one window in all (flow control sees to it).
  void append(std::string_view bytes);
  // Everything; the inbox is empty afterwards and holds no block.
  Piece take();
  // Copies out what fits.
  std::size_t read(std::span<char> into);
  void clear() noexcept;

 private:
  void make_room(std::size_t bytes);

  BufferPool& buffers_;
  Block block_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace hedge::proxy::http
