// Counters of one worker, written by it alone and read by the control thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace hedge::proxy {

// One writer: the increment needs no locked instruction.
class Counter {
 public:
  void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void subtract(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) - amount, std::memory_order_relaxed);
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct WorkerStats {
  Counter connections_open;
  Counter connections_total;
  Counter handshakes_failed;
  Counter requests;
  Counter tunnels_open;
  Counter upstream_connects;
  Counter upstream_retries;
  Counter resolves;
};

}  // namespace hedge::proxy
