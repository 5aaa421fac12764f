// What happens when somebody ends a command that owes an object: it says so, in one object, and ends.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

#include "base/error.h"

namespace hedge::cli {

// While it lives, SIGTERM, SIGINT and SIGHUP call `report` on a thread of its own (with error `interrupted`), then the process
// exits with contract::ExitCode::failed, without unwinding: what was begun stands in the journal, as after `kill -9`.
// Requires: made before any other thread, so that all of them inherit the blocked signals.
class InterruptionWatch {
 public:
  explicit InterruptionWatch(std::function<void(const Error&)> report);
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;
  ~InterruptionWatch();

 private:
  void wait_for_signal();

  std::function<void(const Error&)> report_;
  sigset_t signals_{};
  sigset_t previous_{};
  std::thread thread_;
};

}  // namespace hedge::cli
