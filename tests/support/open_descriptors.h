// How many descriptors this process has open: nothing may leak one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace hedge::test {

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace hedge::test
