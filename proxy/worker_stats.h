// Counters of one worker, written by it alone and read by the control thread.
#pragma once

#include <array>

#include "proxy/handshake_log.h"
#include "proxy/metrics/counter.h"

namespace hedge::proxy {

struct WorkerStats {
  Counter connections_open;
  Counter connections_total;
  Counter accept_back_offs;
  Counter handshakes_done;
  std::array<Counter, kHandshakeFailures> handshakes_failed;  // by HandshakeFailure
  Counter requests;
  Counter tunnels_open;
  Counter upstream_connects;
  Counter upstream_retries;
  Counter resolves;
};

}  // namespace hedge::proxy
