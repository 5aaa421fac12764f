// Time as a seam: production reads the system's clocks, tests move a fake one.
#pragma once

#include <chrono>
#include <string>

namespace hedge {

using WallTime = std::chrono::system_clock::time_point;
using SteadyTime = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  // Wall time: for what is compared with the outside world (certificates, ages shown to people). May jump.
  virtual WallTime wall() const = 0;
  // Never jumps: for deadlines.
  virtual SteadyTime steady() const = 0;
};

class SystemClock final : public Clock {
 public:
  WallTime wall() const override;
  SteadyTime steady() const override;
};

// UTC, as in 2026-11-29T14:30:00Z.
std::string format_utc(WallTime time);
// The same with milliseconds: 2026-11-29T14:30:00.123Z.
std::string format_utc_millis(WallTime time);

}  // namespace hedge
