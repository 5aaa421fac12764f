// A ByteStream whose incoming bytes are given beforehand, piece by piece, and whose outgoing bytes are kept.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "proxy/stream/byte_stream.h"

namespace hedge::proxy::http {

class FakeStream final : public ByteStream {
 public:
  // Each piece is one read at most; after the last the peer ends.
  explicit FakeStream(std::deque<std::string> pieces) : pieces_(std::move(pieces)) {}

  IoResult try_read(std::span<char> into) override {
    if (pieces_.empty()) return IoResult::ended();
    std::string& piece = pieces_.front();
    const std::size_t taken = std::min(piece.size(), into.size());
    std::memcpy(into.data(), piece.data(), taken);
    piece.erase(0, taken);
    if (piece.empty()) pieces_.pop_front();
    return IoResult::moved(taken);
  }
  IoResult try_write(std::string_view first, std::string_view second) override {
    if (failing_from_ > 0 && --failing_from_ == 0) return IoResult::failure(EPIPE);
    written_.append(first).append(second);
    return IoResult::moved(first.size() + second.size());
  }
  IoResult try_shutdown_write() override { return IoResult::moved(0); }
  bool is_readable() const override { return true; }
  bool has_buffered() const override { return false; }
  void cancel() override { cancelled_ = true; }
  void close() override {}
  void reset() override {}
  const StreamIdentity& identity() const override { return identity_; }
  void watch_peer(PeerWatcher* /*watcher*/) override {}
  StreamWaiters& waiters() override { return waiters_; }

  // The `number`-th write from here, counted from 1, fails.
  void fail_write(int number) { failing_from_ = number; }
  const std::string& written() const { return written_; }
  bool cancelled() const { return cancelled_; }

 private:
  std::deque<std::string> pieces_;
  std::string written_;
  int failing_from_ = 0;
  bool cancelled_ = false;
  StreamIdentity identity_;
  StreamWaiters waiters_{nullptr};
};

}  // namespace hedge::proxy::http
