#include "proxy/stream/buffers.h"

#include <utility>

namespace hedge::proxy {
namespace {

// What a burst leaves behind goes back to the heap beyond this many free blocks of a size: 1 MiB and 2 MiB.
constexpr std::size_t kMostFreeHeads = 64;
constexpr std::size_t kMostFreeBodies = 32;

}  // namespace

Block::Block(Block&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      data_(std::move(other.data_)),
      size_(std::exchange(other.size_, 0)) {}

Block& Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Block::release() noexcept {
  if (data_ != nullptr) pool_->give_back(std::move(data_), std::exchange(size_, 0));
}

BufferPool::BufferPool() : scratch_(std::make_unique_for_overwrite<char[]>(kHeadBlockBytes)) {
  heads_.reserve(kMostFreeHeads);
  bodies_.reserve(kMostFreeBodies);
}

Block BufferPool::lease(Free& free, std::size_t size) {
  ++leased_;
  if (free.empty()) return Block(this, std::make_unique_for_overwrite<char[]>(size), size);
  std::unique_ptr<char[]> data = std::move(free.back());
  free.pop_back();
  return Block(this, std::move(data), size);
}

void BufferPool::give_back(std::unique_ptr<char[]> data, std::size_t size) noexcept {
  --leased_;
  Free& free = size == kHeadBlockBytes ? heads_ : bodies_;
  const std::size_t most = size == kHeadBlockBytes ? kMostFreeHeads : kMostFreeBodies;
  // The capacity is reserved, so that this cannot throw.
  if (free.size() < most) free.push_back(std::move(data));
}

}  // namespace hedge::proxy
