// Waiting until a process answers on its port.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace hedge::worktree {

struct ReadinessProbe {
  std::uint16_t port = 0;
  std::optional<std::string>
      path;  // asked by HTTP until it answers below 500; absent: a connection is enough
  std::chrono::milliseconds limit{60000};
};

// One attempt: at most 1 s for a connection, 5 s for an answer. Errors: unavailable, timed_out (not yet), io.
Result<void> probe_once(const ReadinessProbe& probe);

// Asks until it answers, `still_alive` fails (its error is returned), or `probe.limit` is over.
// Errors: timed_out `process_not_ready`, with the last answer as its cause.
Result<void> wait_until_ready(const ReadinessProbe& probe, const std::function<Result<void>()>& still_alive);

}  // namespace hedge::worktree
