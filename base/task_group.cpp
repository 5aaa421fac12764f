#include "base/task_group.h"

#include <cassert>
#include <exception>
#include <utility>

#include "base/log.h"

namespace hedge {

// A self-destroying root coroutine: it owns the task and tells the group when it is over.
struct TaskGroup::Root {
  struct promise_type {
    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { free_frame(frame, bytes); }
    Root get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

TaskGroup::~TaskGroup() { assert(empty() && "join the group before its owner dies"); }

void TaskGroup::spawn(Task<void> task) {
  ++count_;
  run(*this, std::move(task));
}

TaskGroup::Root TaskGroup::run(TaskGroup& group, Task<void> task) {
  {
    // The frame of the task goes before the group is told, so that a joined group holds no memory of it.
    Task<void> owned = std::move(task);
    try {
      co_await owned;
    } catch (const std::exception& bug) {
      log::error("bug: an exception ended a task: {}", bug.what());
    } catch (...) {
      log::error("bug: an unknown exception ended a task");
    }
  }
  group.finished();
}

void TaskGroup::finished() noexcept {
  --count_;
  if (count_ == 0 && waiter_) std::exchange(waiter_, nullptr).resume();
}

}  // namespace hedge
