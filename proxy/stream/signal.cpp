#include "proxy/stream/signal.h"

#include <cassert>
#include <utility>

namespace hedge::proxy {

Signal::~Signal() {
  assert(first_ == nullptr && "a signal dies while a coroutine waits for it");
}

void Signal::notify_all() {
  // The list is taken over first: this object may be gone once the last waiter has run.
  SignalAwaiter* waiting = std::exchange(first_, nullptr);
  for (SignalAwaiter* each = waiting; each != nullptr; each = each->next_) {
    each->notified_ = true;
    each->timer_.stop();
  }
  while (waiting != nullptr) {
    // The awaiter lives in the frame that is resumed.
    SignalAwaiter* next = waiting->next_;
    waiting->waiter_.resume();
    waiting = next;
  }
}

void SignalAwaiter::await_suspend(std::coroutine_handle<> caller) {
  waiter_ = caller;
  SignalAwaiter** last = &signal_.first_;
  while (*last != nullptr) last = &(*last)->next_;
  *last = this;
  timer_.start(limit_);
}

void SignalAwaiter::passed(void* self) {
  auto& awaiter = *static_cast<SignalAwaiter*>(self);
  SignalAwaiter** link = &awaiter.signal_.first_;
  while (*link != &awaiter) link = &(*link)->next_;
  *link = awaiter.next_;
  awaiter.waiter_.resume();
}

}  // namespace hedge::proxy
