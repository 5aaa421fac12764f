#include "proxy/http/input_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "proxy/http/message.h"

namespace hedge::proxy::http {
namespace {

// A whole head, or what is left of a body block.
constexpr std::size_t kLargeBytes = kMaxStartLineBytes + kMaxFieldBytes + kHeadBlockBytes;
static_assert(kLargeBytes >= kBodyBlockBytes + kHeadBlockBytes);

}  // namespace

bool InputBuffer::make_space() {
  if (base_ == nullptr) use_block();
  if (end_ < capacity_) return true;
  if (begin_ > 0) {
    compact();
    return true;
  }
  if (large_ != nullptr) return false;
  use_large();
  return true;
}

void InputBuffer::put_back(std::span<const char> bytes) {
  if (bytes.empty()) return;
  if (base_ == nullptr) use_block();
  if (bytes.size() > capacity_ - end_) {
    late_.assign(bytes.begin(), bytes.end());
    return;
  }
  std::memcpy(base_ + end_, bytes.data(), bytes.size());
  end_ += bytes.size();
}

void InputBuffer::begin_message() {
  if (!late_.empty()) {
    compact();
    if (late_.size() > capacity_ - end_) use_large();
    std::memcpy(base_ + end_, late_.data(), late_.size());
    end_ += late_.size();
    late_ = {};
  }
  if (empty()) {
    release();
  } else {
    compact();
  }
}

void InputBuffer::drop() noexcept {
  release();
  late_ = {};
}

void InputBuffer::release() noexcept {
  block_.release();
  large_.reset();
  base_ = nullptr;
  capacity_ = begin_ = end_ = 0;
}

void InputBuffer::compact() noexcept {
  if (begin_ == 0) return;
  // One message a segment is the rule: then nothing is left to move.
  if (begin_ == end_) {
    begin_ = end_ = 0;
    return;
  }
  std::memmove(base_, base_ + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
}

void InputBuffer::use_block() {
  block_ = pool_.lease_head();
  base_ = block_.data();
  capacity_ = block_.size();
  begin_ = end_ = 0;
}

void InputBuffer::use_large() {
  auto large = std::make_unique_for_overwrite<char[]>(kLargeBytes);
  const std::size_t unread_bytes = end_ - begin_;
  std::memcpy(large.get(), base_ + begin_, unread_bytes);
  large_ = std::move(large);
  block_.release();
  base_ = large_.get();
  capacity_ = kLargeBytes;
  begin_ = 0;
  end_ = unread_bytes;
}

}  // namespace hedge::proxy::http
