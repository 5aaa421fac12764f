#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "proxy/stream/reactor.h"
#include "proxy/stream/signal.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/reactor_loop.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using test::pause_for;
using test::ReactorLoop;

std::array<UniqueFd, 2> socket_pair() {
  std::array<int, 2> fds{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

class CallingSource final : public EventSource {
 public:
  explicit CallingSource(std::function<void()> call) : call_(std::move(call)) {}
  void on_events(std::uint32_t /*events*/) override { call_(); }

 private:
  std::function<void()> call_;
};

TEST(Reactor, RunsPostedMessagesOfOtherThreadsOnItsOwnThreadInOrder) {
  auto reactor = Reactor::create(1s).value();
  std::vector<int> order;
  const auto here = std::this_thread::get_id();
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) {
      reactor->post([&, i] {
        EXPECT_EQ(std::this_thread::get_id(), here);
        order.push_back(i);
      });
    }
    reactor->post([&] { reactor->stop(); });
  });
  reactor->run();
  other.join();
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Reactor, DestroysMessagesThatComeAfterTheEnd) {
  const auto witness = std::make_shared<int>(1);
  {
    auto reactor = Reactor::create(1s).value();
    reactor->post([witness] { ADD_FAILURE() << "nobody runs this"; });
    EXPECT_EQ(witness.use_count(), 2);
  }
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(Reactor, GivesNoEventToASourceThatAnotherOneOfTheSameBatchRemoved) {
  auto reactor = Reactor::create(1s).value();
  auto first = socket_pair();
  auto second = socket_pair();
  int calls = 0;
  std::unique_ptr<CallingSource> a;
  std::unique_ptr<CallingSource> b;
  // Whichever comes first removes the other.
  const auto remove = [&](std::unique_ptr<CallingSource>& victim, int fd) {
    ++calls;
    reactor->remove(fd, *victim);
    victim.reset();
  };
  a = std::make_unique<CallingSource>([&] { remove(b, second[0].get()); });
  b = std::make_unique<CallingSource>([&] { remove(a, first[0].get()); });
  ASSERT_TRUE(reactor->add(first[0].get(), *a, EPOLLIN | EPOLLET));
  ASSERT_TRUE(reactor->add(second[0].get(), *b, EPOLLIN | EPOLLET));
  ASSERT_EQ(::send(first[1].get(), "x", 1, 0), 1);
  ASSERT_EQ(::send(second[1].get(), "x", 1, 0), 1);
  reactor->post([&] { reactor->stop(); });
  reactor->run();
  EXPECT_EQ(calls, 1);
  if (a != nullptr) reactor->remove(first[0].get(), *a);
  if (b != nullptr) reactor->remove(second[0].get(), *b);
}

TEST(Reactor, WakesASourceAfterTheBatchUnlessItWasRemoved) {
  auto reactor = Reactor::create(1s).value();
  auto sockets = socket_pair();
  auto others = socket_pair();
  bool woken = false;
  CallingSource source([&] {
    woken = true;
    reactor->stop();
  });
  CallingSource removed([] { ADD_FAILURE() << "was removed"; });
  ASSERT_TRUE(reactor->add(sockets[0].get(), source, EPOLLIN | EPOLLET));
  ASSERT_TRUE(reactor->add(others[0].get(), removed, EPOLLIN | EPOLLET));
  reactor->wake_later(removed);
  reactor->wake_later(source);
  reactor->remove(others[0].get(), removed);
  EXPECT_FALSE(woken);
  reactor->run();
  EXPECT_TRUE(woken);
  reactor->remove(sockets[0].get(), source);
}

TEST(Reactor, CallsTimersInTheOrderOfTheirTimesAndNoneThatWasStopped) {
  auto reactor = Reactor::create(1s).value();
  struct State {
    Reactor* reactor;
    std::vector<int> order;
  } state{reactor.get(), {}};
  Timer late(*reactor, &state, [](void* s) {
    static_cast<State*>(s)->order.push_back(2);
    static_cast<State*>(s)->reactor->stop();
  });
  Timer early(*reactor, &state, [](void* s) { static_cast<State*>(s)->order.push_back(1); });
  Timer stopped(*reactor, &state, [](void* s) { static_cast<State*>(s)->order.push_back(3); });
  late.start(30ms);
  early.start(5ms);
  stopped.start(1ms);
  stopped.stop();
  reactor->run();
  EXPECT_EQ(state.order, (std::vector<int>{1, 2}));
}

TEST(DeadlineList, CallsWhatHasPassedOnceAndNothingElse) {
  DeadlineList list;
  int passed = 0;
  const auto count = [](void* counter) { ++*static_cast<int*>(counter); };
  Deadline due(&list, &passed, count);
  Deadline later(&list, &passed, count);
  Deadline cleared(&list, &passed, count);
  Deadline never(&list, &passed, count);
  due.set(10ms);
  later.set(1000ms);
  cleared.set(10ms);
  cleared.clear();
  list.set_now(9);
  list.sweep();
  EXPECT_EQ(passed, 0);
  list.set_now(10);
  list.sweep();
  list.sweep();
  EXPECT_EQ(passed, 1);
  list.set_now(5000);
  list.sweep();
  EXPECT_EQ(passed, 2);
  list.expire_all();
  EXPECT_EQ(passed, 6);
}

TEST(DeadlineList, SurvivesThatACallDestroysItsNeighbours) {
  DeadlineList list;
  struct Group {
    std::vector<std::unique_ptr<Deadline>> members;
    int calls = 0;
  } group;
  const auto destroy_all = [](void* argument) {
    auto& all = *static_cast<Group*>(argument);
    ++all.calls;
    all.members.clear();
  };
  for (int i = 0; i < 5; ++i) {
    group.members.push_back(std::make_unique<Deadline>(&list, &group, destroy_all));
    group.members.back()->set(1ms);
  }
  list.set_now(100);
  list.sweep();
  EXPECT_EQ(group.calls, 1);
  EXPECT_TRUE(list.empty());
}

Task<void> wait_and_count(Signal& signal, std::chrono::milliseconds limit, int& notified, int& late) {
  const bool told = co_await signal.wait(limit);
  ++(told ? notified : late);
}

Task<void> notify_after(Reactor& reactor, Signal& signal, std::chrono::milliseconds time) {
  co_await pause_for(reactor, time);
  signal.notify_all();
}

TEST(Signal, ResumesEveryWaiterAndTellsThoseWhoseLimitPassed) {
  ReactorLoop loop;
  Signal signal(loop.reactor());
  int notified = 0;
  int late = 0;
  loop.spawn(wait_and_count(signal, 10s, notified, late));
  loop.spawn(wait_and_count(signal, 10s, notified, late));
  loop.spawn(wait_and_count(signal, 5ms, notified, late));
  loop.run(notify_after(loop.reactor(), signal, 60ms));
  EXPECT_EQ(notified, 2);
  EXPECT_EQ(late, 1);
}

TEST(Reactor, LeavesNoDescriptorBehind) {
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Reactor::create(1s));
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace hedge::proxy
