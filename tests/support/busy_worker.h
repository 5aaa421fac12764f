// Keeps a worker of an edge busy, so that what happens meanwhile meets it all at once.
#pragma once

#include <chrono>
#include <future>

#include <gtest/gtest.h>

#include "proxy/edge_worker.h"

namespace hedge::test {

// From construction to destruction, at most ten seconds. What is posted to the worker meanwhile runs before
// it looks at its sockets.
class BusyWorker {
 public:
  explicit BusyWorker(proxy::EdgeWorker& worker) {
    const std::shared_future<void> released = released_.get_future().share();
    worker.reactor().post([this, released] {
      reached_.set_value();
      released.wait_for(kLimit);
    });
    EXPECT_EQ(reached_.get_future().wait_for(kLimit), std::future_status::ready);
  }
  ~BusyWorker() { released_.set_value(); }
  BusyWorker(const BusyWorker&) = delete;
  BusyWorker& operator=(const BusyWorker&) = delete;

 private:
  static constexpr std::chrono::seconds kLimit{10};
  std::promise<void> reached_;
  std::promise<void> released_;
};

}  // namespace hedge::test
