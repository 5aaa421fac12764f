// Lets coroutines of one thread wait for something that another part of the worker announces, always with a
// bound.
#pragma once

#include <chrono>
#include <coroutine>

#include "proxy/stream/reactor.h"

namespace hedge::proxy {

class SignalAwaiter;

class Signal {
 public:
  explicit Signal(Reactor& reactor) noexcept : reactor_(reactor) {}
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  // Requires: nobody waits.
  ~Signal();

  // Resumes everybody who waits now, one after the other, before it returns.
  // Lifetime: the signal may be destroyed by the last one that is resumed.
  void notify_all();

  // True: notified. False: `limit` passed.
  SignalAwaiter wait(std::chrono::milliseconds limit) noexcept;

 private:
  friend class SignalAwaiter;
  Reactor& reactor_;
  SignalAwaiter* first_ = nullptr;
};

class [[nodiscard]] SignalAwaiter {
 public:
  SignalAwaiter(Signal& signal, std::chrono::milliseconds limit) noexcept
      : signal_(signal), limit_(limit), timer_(signal.reactor_, this, &passed) {}
  SignalAwaiter(const SignalAwaiter&) = delete;
  SignalAwaiter& operator=(const SignalAwaiter&) = delete;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller);
  bool await_resume() const noexcept { return notified_; }

 private:
  friend class Signal;
  static void passed(void* self);
  Signal& signal_;
  std::chrono::milliseconds limit_;
  Timer timer_;
  std::coroutine_handle<> waiter_;
  SignalAwaiter* next_ = nullptr;
  bool notified_ = false;
};

inline SignalAwaiter Signal::wait(std::chrono::milliseconds limit) noexcept {
  return SignalAwaiter(*this, limit);
}

}  // namespace hedge::proxy
