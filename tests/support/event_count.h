// Counts what happens on other threads and waits for it, with a limit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hedge::test {

class EventCount {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  // False: it did not happen so often within the limit.
  bool wait_for(int count, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [this, count] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

}  // namespace hedge::test
