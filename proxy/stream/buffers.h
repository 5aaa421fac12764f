// The worker's buffers. A connection leases a block when bytes wait for it and gives it back before it waits
// idle, so that an idle connection holds none.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace hedge::proxy {

inline constexpr std::size_t kHeadBlockBytes = 16UL << 10;  // heads, and bodies over TLS: one record
inline constexpr std::size_t kBodyBlockBytes = 64UL << 10;  // plain bodies: 16 KiB reads cost twice the CPU
inline constexpr std::size_t kLargeHeadBytes = 64UL << 10;  // the limit of a whole head

class BufferPool;

// A block of memory with one owner; goes back to its pool when it dies.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { release(); }

  explicit operator bool() const noexcept { return data_ != nullptr; }
  char* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }
  std::span<char> bytes() const noexcept { return {data_.get(), size_}; }
  void release() noexcept;

 private:
  friend class BufferPool;
  Block(BufferPool* pool, std::unique_ptr<char[]> data, std::size_t size) noexcept
      : pool_(pool), data_(std::move(data)), size_(size) {}
  BufferPool* pool_ = nullptr;
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
};

// Single-threaded; one a worker. Outlives every block that it leased.
class BufferPool {
 public:
  BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  Block lease_head() { return lease(heads_, kHeadBlockBytes); }
  Block lease_body() { return lease(bodies_, kBodyBlockBytes); }

  // One TLS record's worth, for use within one call that does not suspend.
  std::span<char> scratch() noexcept { return {scratch_.get(), kHeadBlockBytes}; }

  std::size_t leased() const noexcept { return leased_; }
  // Free blocks of both sizes.
  std::size_t kept() const noexcept { return heads_.size() + bodies_.size(); }

 private:
  friend class Block;
  using Free = std::vector<std::unique_ptr<char[]>>;
  Block lease(Free& free, std::size_t size);
  void give_back(std::unique_ptr<char[]> data, std::size_t size) noexcept;

  Free heads_;
  Free bodies_;
  std::unique_ptr<char[]> scratch_;
  std::size_t leased_ = 0;
};

}  // namespace hedge::proxy
