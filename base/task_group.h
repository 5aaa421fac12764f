// The only place where a coroutine is let run on its own: its owner joins the group before it dies.
#pragma once

#include <coroutine>
#include <cstddef>

#include "base/task.h"

namespace hedge {

// Single-threaded: spawn, completion and join happen on one thread.
class TaskGroup {
 public:
  TaskGroup() = default;
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  // Requires: empty(). A living task would outlive what it refers to.
  ~TaskGroup();

  // Starts `task` at once, on this thread; it runs until its first suspension before spawn() returns.
  // An exception that leaves the task is logged as a bug and ends that task only.
  void spawn(Task<void> task);

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }

  // Suspends until no task is left. One waiter at a time. Cancelling the tasks is the caller's affair (close their
  // streams); this only waits.
  auto join() noexcept {
    struct Awaiter {
      TaskGroup& group;
      bool await_ready() const noexcept { return group.empty(); }
      void await_suspend(std::coroutine_handle<> waiter) const noexcept { group.waiter_ = waiter; }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }

 private:
  struct Root;
  static Root run(TaskGroup& group, Task<void> task);
  void finished() noexcept;

  std::size_t count_ = 0;
  std::coroutine_handle<> waiter_;
};

}  // namespace hedge
