// What the system counts about this process. One file per system answers it.
#pragma once

#include <cstdint>

namespace hedge::proxy {

// Zero: the system did not tell.
struct ProcessFacts {
  std::uint64_t open_descriptors = 0;
  std::uint64_t most_descriptors = 0;
  std::uint64_t resident_bytes = 0;
  double cpu_seconds = 0;
  double start_time_seconds = 0;  // UNIX time
};

// Reads a few small files of /proc and a directory of descriptors: not for a worker.
ProcessFacts fetch_process_facts();

}  // namespace hedge::proxy
