// Runs coroutines on a reactor of their own, in the test's thread, with a limit.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "base/task.h"
#include "base/task_group.h"
#include "proxy/stream/reactor.h"
#include "proxy/stream/signal.h"

namespace hedge::test {

class ReactorLoop {
 public:
  explicit ReactorLoop(std::chrono::milliseconds sweep = std::chrono::milliseconds(20))
      : reactor_(proxy::Reactor::create(sweep).value()) {}
  // Requires: nothing of the reactor's is left.
  ~ReactorLoop() = default;

  proxy::Reactor& reactor() { return *reactor_; }

  // Runs until the task has ended. Failing the test, it gives up after the limit; the task is then still
  // suspended, so the process ends with an assertion.
  void run(Task<void> task, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    done_ = false;
    tasks_.spawn(run_and_stop(std::move(task)));
    if (done_) return;
    proxy::Timer timer(*reactor_, this, [](void* self) {
      ADD_FAILURE() << "a task did not end within the limit";
      static_cast<ReactorLoop*>(self)->reactor_->stop();
    });
    timer.start(limit);
    reactor_->run();
  }

  // Starts a task beside the one that run() will wait for. It must end before that one does.
  void spawn(Task<void> task) { tasks_.spawn(std::move(task)); }

 private:
  Task<void> run_and_stop(Task<void> task) {
    co_await task;
    done_ = true;
    reactor_->stop();
  }

  std::unique_ptr<proxy::Reactor> reactor_;
  TaskGroup tasks_;
  bool done_ = false;
};

// Suspends for that long: for tests that must let a limit of the code under test pass.
inline Task<void> pause_for(proxy::Reactor& reactor, std::chrono::milliseconds time) {
  proxy::Signal never(reactor);
  static_cast<void>(co_await never.wait(time));
}

}  // namespace hedge::test
