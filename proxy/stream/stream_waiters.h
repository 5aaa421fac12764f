// Who waits on a stream: at most one reader and one writer, the deadline that bounds them, and why they were
// interrupted.
#pragma once

#include <chrono>
#include <coroutine>

#include "proxy/stream/deadline_list.h"
#include "proxy/stream/io_result.h"

namespace hedge::proxy {

// A suspended operation. `attempt` tries it again without blocking; true means that it is over.
struct PendingIo {
  explicit PendingIo(bool (*attempt_it)(PendingIo&)) noexcept : attempt(attempt_it) {}
  bool (*attempt)(PendingIo&);
  std::coroutine_handle<> waiter;
};

// Every implementation of ByteStream has one as a member and returns it from waiters().
class StreamWaiters {
 public:
  // Without a list (null) deadlines have no effect.
  explicit StreamWaiters(DeadlineList* deadlines) noexcept : deadline_(deadlines, this, &passed) {}
  StreamWaiters(const StreamWaiters&) = delete;
  StreamWaiters& operator=(const StreamWaiters&) = delete;
  // Requires: nobody waits. A coroutine on a stream is finished or cancelled and resumed, never dropped.
  ~StreamWaiters();

  // Tries the waiting operations again and resumes those that are over.
  // Lifetime: the stream may be destroyed by a resumed coroutine before this returns.
  void wake();

  // From now on every operation ends with `why` (timed_out or cancelled); the waiting ones are resumed at
  // once.
  void interrupt(IoStatus why);
  // The same without resuming anybody; wake() does that later.
  void mark_interrupted(IoStatus why) noexcept { interrupted_ = why; }
  // ok: not interrupted.
  IoStatus interrupted() const noexcept { return interrupted_; }

  // Bounds every wait until it is set anew or cleared; both also forget an earlier time-out.
  void set_deadline(std::chrono::milliseconds from_now) noexcept {
    forget_time_out();
    deadline_.set(from_now);
  }
  void clear_deadline() noexcept {
    forget_time_out();
    deadline_.clear();
  }

  PendingIo* reader = nullptr;
  PendingIo* writer = nullptr;

 private:
  static void passed(void* self);
  void forget_time_out() noexcept {
    if (interrupted_ == IoStatus::timed_out) interrupted_ = IoStatus::ok;
  }

  Deadline deadline_;
  IoStatus interrupted_ = IoStatus::ok;
};

}  // namespace hedge::proxy
