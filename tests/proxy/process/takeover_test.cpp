// Both sides of a takeover in one process: a control thread with an edge that only remembers what it is told.
#include "proxy/process/takeover.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "proxy/process/matched_ports.h"
#include "tests/proxy/control/control_thread_fixture.h"
#include "tests/support/event_count.h"

namespace hedge::proxy {
namespace {

class TakeoverTest : public test::ControlThreadTest {
 protected:
  void SetUp() override {
    ListenPlan plan;
    plan.plain = {config::SocketAddress{"127.0.0.1", 0}};
    plan.tls.emplace();
    plan.workers = 2;
    bound_ = std::move(open_listening_sockets(plan).value().addresses);
    OpenAddress open{1, ListenerKind::plain, bound_[0].address, bound_[0].asked, {}};
    for (const UniqueFd& socket : bound_[0].sockets) open.sockets.push_back(socket.get());
    edge_.open = {open};
    start();
  }
  std::vector<BoundAddress> bound_;
};

TEST_F(TakeoverTest, HandsOverEverySocketAndEndsTheEdgeThatWas) {
  auto takeover = Takeover::begin(options_.control_socket, directory_.path());
  ASSERT_TRUE(takeover && *takeover) << (takeover ? "" : takeover.error().to_string());
  {
    const ControlSocket control = (*takeover)->take_control();
    EXPECT_EQ(control.path(), options_.control_socket);
    const std::vector<BoundAddress> addresses = (*takeover)->take_addresses();
    ASSERT_EQ(addresses.size(), 1U);
    EXPECT_EQ(addresses[0].address, bound_[0].address);
    EXPECT_EQ(addresses[0].asked.port, 0);
    EXPECT_EQ(addresses[0].sockets.size(), 2U);
    EXPECT_EQ(edge_.pauses, 0) << "it serves until the other is ready";
    ASSERT_TRUE((*takeover)->wait_for_go());
    EXPECT_EQ(edge_.pauses, 1);
    EXPECT_EQ(edge_.left, 0);
    EXPECT_TRUE((*takeover)->confirm());
    EXPECT_FALSE((*takeover)->is_to_reload());
    EXPECT_TRUE(stops());
    EXPECT_EQ(edge_.left, 1);
    EXPECT_EQ(edge_.drains, 0) << "nobody is closed while idle";
    control_->stop();
    EXPECT_FALSE(ControlSocket::bind(options_.control_socket)) << "the lock has come along";
  }
  EXPECT_TRUE(std::filesystem::exists(options_.control_socket)) << "it was never this side's to remove";
  EXPECT_TRUE(ControlSocket::bind(options_.control_socket));
}

TEST_F(TakeoverTest, ThatIsGivenUpLeavesTheEdgeAsItWas) {
  for (const bool is_ready : {false, true}) {
    auto takeover = Takeover::begin(options_.control_socket, directory_.path());
    ASSERT_TRUE(takeover && *takeover);
    if (is_ready) {
      ASSERT_TRUE((*takeover)->wait_for_go());
    }
    takeover->reset();
    // The next one is refused until the first has been noticed to be gone.
    bool may_again = false;
    for (int i = 0; i < 1000 && !may_again; ++i) {
      const auto again = Takeover::begin(options_.control_socket, directory_.path());
      may_again = again.has_value();
      EXPECT_TRUE(may_again || again.error().id() == "takeover_refused");
      std::this_thread::yield();
    }
    EXPECT_TRUE(may_again);
    EXPECT_EQ(edge_.resumes, is_ready ? 1 : 0);
    EXPECT_TRUE(client().fetch_status());
    EXPECT_EQ(edge_.left, 0);
  }
}

TEST_F(TakeoverTest, IsRefusedToASecondAndToldWhy) {
  const auto first = Takeover::begin(options_.control_socket, directory_.path());
  ASSERT_TRUE(first && *first);
  const auto second = Takeover::begin(options_.control_socket, directory_.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().id(), "takeover_refused");
  EXPECT_NE(second.error().to_string().find("another process is taking over"), std::string::npos);
  EXPECT_FALSE(second.error().hints().empty());
}

TEST_F(TakeoverTest, OfAnEdgeThatDoesNotRunIsNone) {
  const auto nobody = Takeover::begin(directory_ / "nobody.sock", directory_.path());
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(*nobody);
  control_->stop();
  const auto gone = Takeover::begin(options_.control_socket, directory_.path());
  ASSERT_TRUE(gone);
  EXPECT_FALSE(*gone);
}

TEST_F(TakeoverTest, OfAnEdgeForAnotherStateDirectoryIsRefused) {
  const auto refused = Takeover::begin(options_.control_socket, directory_ / "another");
  ASSERT_FALSE(refused) << "its lock is not that of the other directory";
  EXPECT_EQ(refused.error().id(), "takeover_refused");
  EXPECT_NE(refused.error().to_string().find(directory_.path().string()), std::string::npos);
}

TEST_F(TakeoverTest, ASigtermBeforeTheNewProcessServesEndsTheAttempt) {
  auto takeover = Takeover::begin(options_.control_socket, directory_.path());
  ASSERT_TRUE(takeover && *takeover);
  control_->request_stop();
  EXPECT_FALSE((*takeover)->wait_for_go()) << "its sockets are being closed";
  EXPECT_TRUE(stops());
  EXPECT_EQ(edge_.drains, 1);
  EXPECT_EQ(edge_.left, 0);
}

TEST_F(TakeoverTest, ASigtermAfterTheNewProcessWasToldToServeIsForAnEdgeThatIsGone) {
  auto takeover = Takeover::begin(options_.control_socket, directory_.path());
  ASSERT_TRUE(takeover && *takeover);
  ASSERT_TRUE((*takeover)->wait_for_go());
  control_->request_stop();
  EXPECT_TRUE((*takeover)->confirm());
  EXPECT_TRUE(stops());
  EXPECT_EQ(edge_.drains, 0);
  EXPECT_EQ(edge_.left, 1);
  control_->stop();
  control_.reset();
  EXPECT_TRUE(std::filesystem::exists(options_.state_directory / "edge-control")) << "it is the new one's";
}

TEST_F(TakeoverTest, WhatTheEdgeConfirmedToTheEndIsKnownToTheNewOne) {
  auto takeover = Takeover::begin(options_.control_socket, directory_.path());
  ASSERT_TRUE(takeover && *takeover);
  test::FakeEdge new_edge;
  const auto successor = ControlThread::create(options_, (*takeover)->take_claim(options_.state_directory, options_.control_socket),
                                               (*takeover)->take_control());
  successor->prepare(new_edge, new_edge);
  store(test::route("late.localhost"));
  ASSERT_TRUE((*takeover)->wait_for_go());
  successor->start();
  ASSERT_TRUE((*takeover)->confirm());
  successor->own_socket();
  EXPECT_TRUE(new_edge.wait_for_route("late.localhost")) << "long before the watch looks";
}

class ReloadingEdge : public TakeoverTest {
 protected:
  void SetUp() override {
    options_.reload = [this]() -> Result<ReloadedSettings> {
      reloads_.add();
      return ReloadedSettings();
    };
    TakeoverTest::SetUp();
  }
  bool has_read() { return reloads_.wait_for(1, std::chrono::milliseconds(0)); }
  test::EventCount reloads_;
};

TEST_F(ReloadingEdge, ReadsItsSettingsAfterATakeoverThatFailedMeanwhile) {
  {
    auto takeover = Takeover::begin(options_.control_socket, directory_.path());
    ASSERT_TRUE(takeover && *takeover);
    control_->request_reload();
    EXPECT_TRUE(client().fetch_status()) << "the signal was seen";
    EXPECT_FALSE(has_read());
  }
  EXPECT_TRUE(reloads_.wait_for(1));
}

TEST_F(ReloadingEdge, LeavesTheReadingToTheProcessThatFollows) {
  auto takeover = Takeover::begin(options_.control_socket, directory_.path());
  ASSERT_TRUE(takeover && *takeover);
  control_->request_reload();
  ASSERT_TRUE((*takeover)->wait_for_go());
  EXPECT_TRUE((*takeover)->confirm());
  EXPECT_TRUE((*takeover)->is_to_reload());
  EXPECT_FALSE(has_read());
}

class RefusingEdge : public test::ControlThreadTest {};

TEST_F(RefusingEdge, SaysThatItsServiceManagerKeepsThePorts) {
  options_.takeover_refusal = "the manager keeps them";
  start();
  const auto refused = Takeover::begin(options_.control_socket, directory_.path());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("the manager keeps them"), std::string::npos);
}

}  // namespace
}  // namespace hedge::proxy
