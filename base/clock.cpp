#include "base/clock.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace hedge {

WallTime SystemClock::wall() const { return std::chrono::system_clock::now(); }
SteadyTime SystemClock::steady() const { return std::chrono::steady_clock::now(); }

namespace {

std::string format(WallTime time, bool with_millis) {
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(millis);
  const std::time_t whole = std::chrono::system_clock::to_time_t(seconds);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 40> buffer{};
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string out(buffer.data(), length);
  if (with_millis) {
    std::snprintf(buffer.data(), buffer.size(), ".%03d", static_cast<int>((millis - seconds).count()));
    out += buffer.data();
  }
  return out + "Z";
}

}  // namespace

std::string format_utc(WallTime time) { return format(time, false); }
std::string format_utc_millis(WallTime time) { return format(time, true); }

}  // namespace hedge
