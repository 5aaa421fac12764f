#include "cli/signal_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>

namespace hedge::cli {
namespace {

TEST(SignalWatch, CallsInsteadOfEndingTheProcess) {
  std::promise<int> told;
  const SignalWatch watch({SIGTERM, SIGHUP}, [&told](int number) { told.set_value(number); });
  ::kill(::getpid(), SIGTERM);
  auto number = told.get_future();
  ASSERT_EQ(number.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(number.get(), SIGTERM);
}

TEST(SignalWatch, GivesTheSignalsBackWhenItEnds) {
  { const SignalWatch watch({SIGTERM}, [](int) {}); }
  sigset_t blocked;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
  EXPECT_EQ(::sigismember(&blocked, SIGTERM), 0);
}

}  // namespace
}  // namespace hedge::cli
