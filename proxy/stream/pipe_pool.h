// The worker's pipes, for bodies that go from one socket to another inside the kernel (splice(2)).
#pragma once

#include <cstddef>
#include <vector>

#include "base/unique_fd.h"

namespace hedge::proxy {

class PipePool;

// A pipe with one owner; goes back to its pool when it dies, if it is empty.
class Pipe {
 public:
  Pipe() = default;
  Pipe(Pipe&& other) noexcept;
  Pipe& operator=(Pipe&& other) noexcept;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { release(); }

  explicit operator bool() const noexcept { return static_cast<bool>(read_end_); }
  int read_end() const noexcept { return read_end_.get(); }
  int write_end() const noexcept { return write_end_.get(); }

  // Bytes that were put in and not taken out.
  std::size_t held() const noexcept { return held_; }
  void put(std::size_t bytes) noexcept { held_ += bytes; }
  void took(std::size_t bytes) noexcept { held_ -= bytes; }
  void release() noexcept;

 private:
  friend class PipePool;
  Pipe(PipePool* pool, UniqueFd read_end, UniqueFd write_end) noexcept;
  PipePool* pool_ = nullptr;
  UniqueFd read_end_;
  UniqueFd write_end_;
  std::size_t held_ = 0;
};

// Single-threaded; one a worker. Outlives every pipe that it leased.
class PipePool {
 public:
  PipePool();
  PipePool(const PipePool&) = delete;
  PipePool& operator=(const PipePool&) = delete;

  // Empty where no descriptors are left: then the body is copied.
  Pipe lease() noexcept;
  std::size_t kept() const noexcept { return free_.size(); }

 private:
  friend class Pipe;
  struct Ends {
    UniqueFd read_end;
    UniqueFd write_end;
  };
  void give_back(UniqueFd read_end, UniqueFd write_end) noexcept;

  std::vector<Ends> free_;
};

}  // namespace hedge::proxy
