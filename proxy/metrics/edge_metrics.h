// What the edge tells about itself and its traffic to monitoring.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "proxy/handshake_log.h"
#include "proxy/metrics/process_facts.h"
#include "proxy/metrics/worker_traffic.h"

namespace hedge::proxy {

// The sums over all workers.
struct EdgeMetrics {
  std::uint64_t workers = 0;
  std::uint64_t connections_open = 0;
  std::uint64_t connections = 0;
  std::uint64_t accept_back_offs = 0;
  std::uint64_t handshakes_done = 0;
  std::array<std::uint64_t, kHandshakeFailures> handshakes_failed{};
  std::uint64_t requests = 0;
  std::uint64_t resolves = 0;
  std::uint64_t upstream_connects = 0;
  TrafficTotals traffic;
};

// What only the control thread knows.
struct ControlMetrics {
  std::chrono::seconds uptime{0};
  std::uint64_t routes = 0;
  std::uint64_t access_log_dropped = 0;
  std::uint64_t reloads = 0;         // by SIGHUP
  std::uint64_t reloads_failed = 0;  // of them; the settings before stay in use
  ProcessFacts process;
};

// The Prometheus text format, version 0.0.4.
std::string render_metrics(const EdgeMetrics& edge, const ControlMetrics& control);

}  // namespace hedge::proxy
