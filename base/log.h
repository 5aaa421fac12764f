// The program's own log, on standard error. Access logs are another thing and live in the edge.
#pragma once

#include <string_view>

#include <spdlog/fmt/fmt.h>

namespace hedge::log {

enum class Level { debug, info, warning, error };

// Call once, from main, before other threads exist. Lines go to standard error: "2026-11-29T14:30:00.123Z info text".
void start(Level lowest);
void write(Level level, std::string_view text);
bool enabled(Level level);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::debug)) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hedge::log
