#include "proxy/stream/splice.h"

#include <algorithm>

namespace hedge::proxy {
namespace {

class [[nodiscard]] SpliceReadAwaiter final : PendingIo {
 public:
  SpliceReadAwaiter(ByteStream& stream, Pipe& pipe, std::size_t most) noexcept
      : PendingIo(&attempt), stream_(stream), pipe_(pipe), most_(most) {}
  SpliceReadAwaiter(const SpliceReadAwaiter&) = delete;
  SpliceReadAwaiter& operator=(const SpliceReadAwaiter&) = delete;
  bool await_ready() { return attempt(*this); }
  void await_suspend(std::coroutine_handle<> caller) {
    waiter = caller;
    stream_.waiters().reader = this;
  }
  IoResult await_resume() const noexcept { return result_; }

 private:
  static bool attempt(PendingIo& pending) {
    auto& self = static_cast<SpliceReadAwaiter&>(pending);
    self.result_ = self.stream_.try_splice_read(self.pipe_, self.most_);
    return !self.result_.would_block();
  }

  ByteStream& stream_;
  Pipe& pipe_;
  std::size_t most_;
  IoResult result_;
};

class [[nodiscard]] SpliceWriteAwaiter final : PendingIo {
 public:
  SpliceWriteAwaiter(ByteStream& stream, Pipe& pipe) noexcept
      : PendingIo(&attempt), stream_(stream), pipe_(pipe) {}
  SpliceWriteAwaiter(const SpliceWriteAwaiter&) = delete;
  SpliceWriteAwaiter& operator=(const SpliceWriteAwaiter&) = delete;
  bool await_ready() { return attempt(*this); }
  void await_suspend(std::coroutine_handle<> caller) {
    waiter = caller;
    stream_.waiters().writer = this;
  }
  // `bytes` counts what was written, also on an error.
  IoResult await_resume() const noexcept { return {result_.status, result_.error, written_}; }

 private:
  static bool attempt(PendingIo& pending) {
    auto& self = static_cast<SpliceWriteAwaiter&>(pending);
    while (self.pipe_.held() > 0) {
      self.result_ = self.stream_.try_splice_write(self.pipe_);
      if (self.result_.would_block()) return false;
      if (!self.result_.ok()) return true;
      self.written_ += self.result_.bytes;
    }
    return true;
  }

  ByteStream& stream_;
  Pipe& pipe_;
  std::size_t written_ = 0;
  IoResult result_;
};

}  // namespace

Task<SpliceResult> splice_piece(ByteStream& from, ByteStream& to, std::uint64_t most, PipePool& pipes) {
  SpliceResult result;
  for (;;) {
    result.read = co_await from.readable();
    if (!result.read.ok()) co_return result;
    Pipe pipe = pipes.lease();
    result.no_pipe = !pipe;
    if (result.no_pipe) co_return result;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(most, kSpliceBytes));
    result.read = from.try_splice_read(pipe, size);
    if (result.read.would_block()) {
      // Nothing is there after all; or there is, and it is the others' turn.
      if (!from.is_readable()) continue;
      result.read = co_await SpliceReadAwaiter(from, pipe, size);
    }
    if (!result.read.ok()) co_return result;
    result.write = co_await SpliceWriteAwaiter(to, pipe);
    result.bytes = result.write.bytes;
    co_return result;
  }
}

}  // namespace hedge::proxy
