// Signals as calls on a thread of their own, for verbs that owe an answer or a child.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>
#include <vector>

namespace hedge::cli {

// While it lives, each of `signals` that arrives calls `on_signal` instead of what it would do by itself. Children start with
// the defaults again (base/subprocess).
// Requires: made before any other thread that lives as long, so that all of them inherit the blocked signals. SIGUSR2 is its own.
class SignalWatch {
 public:
  SignalWatch(const std::vector<int>& signals, std::function<void(int)> on_signal);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch();

 private:
  void serve();

  std::function<void(int)> on_signal_;
  sigset_t signals_{};
  sigset_t previous_{};
  std::thread thread_;
};

}  // namespace hedge::cli
