#include "base/task.h"

#include <gtest/gtest.h>

#include <coroutine>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/task_group.h"

namespace hedge {
namespace {

// Something to wait for: resumed by hand.
class Gate {
 public:
  auto wait() {
    struct Awaiter {
      Gate& gate;
      bool await_ready() const noexcept { return gate.open_; }
      void await_suspend(std::coroutine_handle<> waiter) const { gate.waiters_.push_back(waiter); }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }
  void open() {
    open_ = true;
    for (const auto waiter : std::exchange(waiters_, {})) waiter.resume();
  }

 private:
  bool open_ = false;
  std::vector<std::coroutine_handle<>> waiters_;
};

Task<int> after(Gate& gate, int value) {
  co_await gate.wait();
  co_return value;
}

Task<void> add(Gate& gate, std::vector<int>& out) {
  const int one = co_await after(gate, 1);
  const int two = co_await after(gate, 2);
  out.push_back(one + two);
}

TEST(Task, RunsOnlyWhenAwaitedAndReturnsItsValue) {
  Gate gate;
  std::vector<int> out;
  TaskGroup group;
  {
    const Task<void> never = add(gate, out);
  }
  EXPECT_TRUE(out.empty());
  group.spawn(add(gate, out));
  EXPECT_EQ(group.size(), 1U);
  gate.open();
  EXPECT_TRUE(group.empty());
  EXPECT_EQ(out, std::vector<int>{3});
}

Task<std::string> deep(int levels) {
  if (levels == 0) co_return "bottom";
  co_return co_await deep(levels - 1);
}

Task<void> store(Task<std::string> task, std::string& out) { out = co_await task; }

TEST(Task, ResumesDeepChainsWithoutStackGrowth) {
  std::string out;
  TaskGroup group;
  group.spawn(store(deep(20000), out));
  EXPECT_EQ(out, "bottom");
}

Task<void> fail() {
  throw std::runtime_error("a bug");
  co_return;
}

Task<void> survive(bool& caught) {
  try {
    co_await fail();
  } catch (const std::runtime_error&) {
    caught = true;
  }
}

TEST(Task, CarriesAnExceptionToTheAwaiter) {
  bool caught = false;
  TaskGroup group;
  group.spawn(survive(caught));
  EXPECT_TRUE(caught);
}

TEST(TaskGroup, EndsOnlyTheTaskThatThrew) {
  Gate gate;
  std::vector<int> out;
  TaskGroup group;
  group.spawn(add(gate, out));
  group.spawn(fail());
  EXPECT_EQ(group.size(), 1U);
  gate.open();
  EXPECT_EQ(out, std::vector<int>{3});
}

Task<void> join_then(TaskGroup& group, bool& joined) {
  co_await group.join();
  joined = true;
}

TEST(TaskGroup, IsJoinedWhenTheLastTaskEnds) {
  Gate gate;
  std::vector<int> out;
  TaskGroup group;
  TaskGroup outer;
  bool joined = false;
  group.spawn(add(gate, out));
  group.spawn(add(gate, out));
  outer.spawn(join_then(group, joined));
  EXPECT_FALSE(joined);
  gate.open();
  EXPECT_TRUE(joined);
  EXPECT_EQ(out.size(), 2U);
}

TEST(FramePool, ReusesAFrameOfTheSameClass) {
  void* first = allocate_frame(100);
  free_frame(first, 100);
  void* second = allocate_frame(120);
  EXPECT_EQ(first, second);
  free_frame(second, 120);
  void* large = allocate_frame(10000);
  ASSERT_NE(large, nullptr);
  free_frame(large, 10000);
}

}  // namespace
}  // namespace hedge
