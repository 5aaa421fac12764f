#include "proxy/metrics/worktree_counts.h"

namespace hedge::proxy {
namespace {

template <std::size_t N>
void add_each(std::array<std::uint64_t, N>& totals, const std::array<Counter, N>& cells) {
  for (std::size_t i = 0; i < N; ++i) totals[i] += cells[i].value();
}

}  // namespace

void add(WorktreeTotals& totals, const WorktreeMeter& meter) {
  add_each(totals.by_class, meter.by_class);
  add_each(totals.by_duration, meter.by_duration);
  add_each(totals.errors, meter.errors);
  totals.duration_micros += meter.duration_micros.value();
  totals.bytes_received += meter.bytes_received.value();
  totals.bytes_sent += meter.bytes_sent.value();
  totals.requests_open += meter.requests_open.value();
  totals.tunnels_open += meter.tunnels_open.value();
  totals.resolves += meter.resolves.value();
  totals.connects += meter.connects.value();
  totals.retries += meter.retries.value();
  totals.last_request_seconds = std::max(totals.last_request_seconds, meter.last_request_seconds.value());
}

}  // namespace hedge::proxy
