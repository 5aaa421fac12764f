// How long a verb took.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace hedge::contract {

class Stopwatch {
 public:
  explicit Stopwatch(const Clock& clock) : clock_(clock), begun_(clock.steady()) {}
  std::chrono::milliseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.steady() - begun_);
  }

 private:
  const Clock& clock_;
  SteadyTime begun_;
};

}  // namespace hedge::contract
