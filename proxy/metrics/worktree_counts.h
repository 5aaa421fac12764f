// What is counted about one worktree's traffic: cells that a worker writes, and their sums over all workers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "proxy/metrics/counter.h"
#include "proxy/proxy_error.h"

namespace hedge::proxy {

// Upper bounds of the latency histogram's buckets in microseconds; the last bucket has none.
inline constexpr std::array<std::uint64_t, 13> kLatencyBounds = {
    1'000,   2'500,   5'000,     10'000,    25'000,    50'000,    100'000,
    250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000};
inline constexpr std::size_t kLatencyBuckets = kLatencyBounds.size() + 1;
inline constexpr std::size_t kStatusClasses = 5;  // 1xx to 5xx
inline constexpr std::size_t kProxyReasons = static_cast<std::size_t>(ProxyReason::internal) + 1;

// `Cell` is Counter in a worker and a plain number in a sum.
template <class Cell>
struct WorktreeCounts {
  std::array<Cell, kStatusClasses> by_class{};      // finished requests
  std::array<Cell, kLatencyBuckets> by_duration{};  // each request in one bucket; tunnels until their 101
  Cell duration_micros{};
  Cell bytes_received{};  // of request bodies and tunnels
  Cell bytes_sent{};      // of response bodies and tunnels
  Cell requests_open{};   // tunnels included
  Cell tunnels_open{};
  Cell resolves{};  // requests that had to wait for the upstream's address
  Cell connects{};  // requests that had to wait for a new upstream connection
  Cell retries{};
  std::array<Cell, kProxyReasons> errors{};  // by ProxyReason
  Cell last_request_seconds{};               // UNIX time of the last request that somebody made, 0: none yet
};

using WorktreeMeter = WorktreeCounts<Counter>;
using WorktreeTotals = WorktreeCounts<std::uint64_t>;

void add(WorktreeTotals& totals, const WorktreeMeter& meter);

inline std::size_t latency_bucket(std::uint64_t micros) noexcept {
  std::size_t bucket = 0;
  while (bucket < kLatencyBounds.size() && micros > kLatencyBounds[bucket]) ++bucket;
  return bucket;
}

}  // namespace hedge::proxy
