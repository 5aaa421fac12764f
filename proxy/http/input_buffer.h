// The received bytes of one connection that nobody has used yet. Holds memory only while there are some.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "proxy/stream/buffers.h"

namespace hedge::proxy::http {

class InputBuffer {
 public:
  explicit InputBuffer(BufferPool& pool) : pool_(pool) {}

  std::span<char> unread() const noexcept { return {base_ + begin_, end_ - begin_}; }
  std::string_view text() const noexcept { return {base_ + begin_, end_ - begin_}; }
  bool empty() const noexcept { return begin_ == end_; }

  // Where to read to; not empty. Moves nothing, so that views into the unread bytes stay valid, unless the
  // block is full: then the unread bytes move to its front or to a larger block. False: there are more unread
  // bytes than any head may have.
  bool make_space();
  std::span<char> space() const noexcept { return {base_ + end_, capacity_ - end_}; }
  void received(std::size_t bytes) noexcept { end_ += bytes; }
  void consume(std::size_t bytes) noexcept { begin_ += bytes; }
  // The room after unread() that nobody has filled.
  std::size_t free_bytes() const noexcept { return capacity_ - end_; }

  // Takes over bytes that were read elsewhere, behind those that are unread. Views into consumed bytes stay
  // valid; where there is no room, the bytes become unread only with the next message.
  void put_back(std::span<const char> bytes);

  // The message before is over and views into it end: unread bytes move to the front, and without any the
  // memory is given back.
  void begin_message();
  // Nobody needs what is unread: the memory is given back.
  void drop() noexcept;
  bool has_more_for_next_message() const noexcept { return !empty() || !late_.empty(); }

 private:
  void compact() noexcept;
  void use_block();
  void use_large();
  void release() noexcept;

  BufferPool& pool_;
  Block block_;
  std::unique_ptr<char[]> large_;  // for heads above a block: rare, and not worth a pool
  std::vector<char> late_;         // what put_back() found no room for
  char* base_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace hedge::proxy::http
