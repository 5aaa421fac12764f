// A clock that a test moves.
#pragma once

#include <mutex>

#include "base/clock.h"

namespace hedge::test {

class FakeClock final : public Clock {
 public:
  explicit FakeClock(WallTime wall = WallTime(std::chrono::seconds(1796000000))) : wall_(wall) {}
  WallTime wall() const override {
    const std::lock_guard guard(mutex_);
    return wall_;
  }
  SteadyTime steady() const override {
    const std::lock_guard guard(mutex_);
    return steady_;
  }
  // Both clocks go on.
  void advance(std::chrono::milliseconds by) {
    const std::lock_guard guard(mutex_);
    wall_ += by;
    steady_ += by;
  }
  // Only the wall clock moves: a suspended laptop, or a corrected clock.
  void jump_wall(std::chrono::seconds by) {
    const std::lock_guard guard(mutex_);
    wall_ += by;
  }

 private:
  mutable std::mutex mutex_;
  WallTime wall_;
  SteadyTime steady_{std::chrono::hours(1)};
};

}  // namespace hedge::test
