// How long a client that has ended its side is believed to be there.
#include "proxy/http/client_watch.h"

#include <chrono>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/proxy/http/fake_stream.h"
#include "tests/support/reactor_loop.h"

namespace hedge::proxy::http {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

class ClientWatchTest : public testing::Test {
 protected:
  ClientWatchTest() {
    limits_.look_after = 1ms;
    limits_.continue_after = 1ms;
  }

  // Runs the reactor until it is true, or until so many looks were possible.
  bool becomes(const std::function<bool()>& condition) {
    loop_.run(wait_for(condition));
    return condition();
  }
  void let_looks_pass(int count) {
    for (int i = 0; i < count; ++i) loop_.run(test::pause_for(loop_.reactor(), 2ms));
  }
  std::size_t asked() const {
    EXPECT_EQ(client_.written().size() % kContinue.size(), 0U);
    return client_.written().size() / kContinue.size();
  }

  test::ReactorLoop loop_;
  FakeStream client_{{}};
  FakeStream upstream_{{}};
  ClientWatchLimits limits_;

 private:
  Task<void> wait_for(const std::function<bool()>& condition) {
    constexpr int kMost = 5000;
    for (int i = 0; i < kMost && !condition(); ++i) co_await test::pause_for(loop_.reactor(), 1ms);
  }
};

TEST_F(ClientWatchTest, AHalfClosedClientIsAskedAgainAndAgainAndEverMoreRarely) {
  limits_.most_looks_between = 8;
  ClientWatch watch(loop_.reactor(), client_, Version::http11, limits_);
  watch.set_upstream(&upstream_);
  watch.peer_finished();
  // Looks 1, 2, 4, 8, 16, 24 and 32.
  EXPECT_TRUE(becomes([this] { return asked() == 7; }));
  EXPECT_FALSE(watch.gone());
  EXPECT_FALSE(upstream_.cancelled()) << "one that can be written to is there";
}

TEST_F(ClientWatchTest, OneThatCanNoLongerBeAskedIsGone) {
  ClientWatch watch(loop_.reactor(), client_, Version::http11, limits_);
  watch.set_upstream(&upstream_);
  client_.fail_write(3);
  watch.peer_finished();
  EXPECT_TRUE(becomes([this] { return upstream_.cancelled(); }));
  EXPECT_TRUE(watch.gone());
  EXPECT_EQ(asked(), 2U);
}

TEST_F(ClientWatchTest, AnHttp10ClientIsNotAskedAndNotWaitedForWithoutEnd) {
  limits_.most_looks_unasked = 20;
  ClientWatch watch(loop_.reactor(), client_, Version::http10, limits_);
  watch.set_upstream(&upstream_);
  watch.peer_finished();
  EXPECT_TRUE(becomes([this] { return upstream_.cancelled(); }));
  EXPECT_EQ(asked(), 0U);
}

TEST_F(ClientWatchTest, AResponseThatStandsStillIsGivenUp) {
  ClientWatch watch(loop_.reactor(), client_, Version::http11, limits_);
  watch.set_upstream(&upstream_);
  watch.peer_finished();
  watch.sending();
  EXPECT_TRUE(becomes([this] { return upstream_.cancelled(); }));
  EXPECT_EQ(asked(), 0U) << "no interim response within a response";
}

TEST_F(ClientWatchTest, AResponseThatWaitsForTheClientToReadIsNot) {
  ClientWatch watch(loop_.reactor(), client_, Version::http11, limits_);
  watch.set_upstream(&upstream_);
  PendingIo write([](PendingIo&) { return false; });
  client_.waiters().writer = &write;
  watch.peer_finished();
  watch.sending();
  let_looks_pass(10);
  EXPECT_FALSE(upstream_.cancelled());
  client_.waiters().writer = nullptr;
  EXPECT_TRUE(becomes([this] { return upstream_.cancelled(); })) << "once it is written and nothing follows";
}

TEST_F(ClientWatchTest, AnExpectationThatNobodyAnswersIsAnsweredOnce) {
  ClientWatch watch(loop_.reactor(), client_, Version::http11, limits_);
  watch.answer_expectation_later();
  EXPECT_TRUE(becomes([this] { return asked() == 1; }));
  let_looks_pass(5);
  EXPECT_EQ(asked(), 1U);
}

TEST_F(ClientWatchTest, AnUpstreamThatComesAfterTheClientWentIsCancelled) {
  ClientWatch watch(loop_.reactor(), client_, Version::http11, limits_);
  watch.peer_gone();
  watch.set_upstream(&upstream_);
  EXPECT_TRUE(upstream_.cancelled());
}

TEST(ClientWatchDefaults, AClientThatLeftIsNoticedWithinASecondAndALaterOneWithinHalfAMinute) {
  EXPECT_LE(kClientWatchLimits.look_after, 500ms);
  EXPECT_LE(kClientWatchLimits.look_after * kClientWatchLimits.most_looks_between, 30s);
  EXPECT_LE(kClientWatchLimits.look_after * kClientWatchLimits.most_looks_unasked, 5min);
}

}  // namespace
}  // namespace hedge::proxy::http
