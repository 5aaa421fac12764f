#include "proxy/stream/pipe_pool.h"

#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "proxy/stream/splice.h"

namespace hedge::proxy {
namespace {

// Two descriptors each, and their capacity counts against what all pipes of a user may hold; more bodies than that at
// one moment make pipes of their own.
constexpr std::size_t kMostFree = 4;

}  // namespace

Pipe::Pipe(PipePool* pool, UniqueFd read_end, UniqueFd write_end) noexcept
    : pool_(pool), read_end_(std::move(read_end)), write_end_(std::move(write_end)) {}

Pipe::Pipe(Pipe&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      read_end_(std::move(other.read_end_)),
      write_end_(std::move(other.write_end_)),
      held_(std::exchange(other.held_, 0)) {}

Pipe& Pipe::operator=(Pipe&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    read_end_ = std::move(other.read_end_);
    write_end_ = std::move(other.write_end_);
    held_ = std::exchange(other.held_, 0);
  }
  return *this;
}

void Pipe::release() noexcept {
  // What somebody left in it would come out of the next body.
  if (pool_ != nullptr && held_ == 0) pool_->give_back(std::move(read_end_), std::move(write_end_));
  pool_ = nullptr;
  read_end_.reset();
  write_end_.reset();
  held_ = 0;
}

PipePool::PipePool() {
  free_.reserve(kMostFree);
}

Pipe PipePool::lease() noexcept {
  if (!free_.empty()) {
    Ends ends = std::move(free_.back());
    free_.pop_back();
    return Pipe(this, std::move(ends.read_end), std::move(ends.write_end));
  }
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return Pipe();
  Pipe made(this, UniqueFd(ends[0]), UniqueFd(ends[1]));
  // Where the user's share of pipe memory is used up the size stays as it is, and the pipe works nevertheless.
  (void)::fcntl(made.write_end(), F_SETPIPE_SZ, static_cast<int>(kSpliceBytes));
  return made;
}

void PipePool::give_back(UniqueFd read_end, UniqueFd write_end) noexcept {
  // The capacity is reserved, so that this cannot throw.
  if (free_.size() < kMostFree) free_.push_back(Ends{std::move(read_end), std::move(write_end)});
}

}  // namespace hedge::proxy
