// Both sides of a takeover in one process: a control thread with an edge that only remembers what it is told.
#include "proxy/process/takeover.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "proxy/process/matched_ports.h"
#include "tests/proxy/control/control_thread_fixture.h"

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
  auto takeover = Takeover::begin(options_.control_socket);
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
    auto takeover = Takeover::begin(options_.control_socket);
    ASSERT_TRUE(takeover && *takeover);
    if (is_ready) {
      ASSERT_TRUE((*takeover)->wait_for_go());
    }
    takeover->reset();
    // The next one is refused until the first has been noticed to be gone.
    bool may_again = false;
    for (int i = 0; i < 1000 && !may_again; ++i) {
      const auto again = Takeover::begin(options_.control_socket);
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
  const auto first = Takeover::begin(options_.control_socket);
  ASSERT_TRUE(first && *first);
  const auto second = Takeover::begin(options_.control_socket);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().id(), "takeover_refused");
  EXPECT_NE(second.error().to_string().find("another process is taking over"), std::string::npos);
  EXPECT_FALSE(second.error().hints().empty());
}

TEST_F(TakeoverTest, OfAnEdgeThatDoesNotRunIsNone) {
  const auto nobody = Takeover::begin(directory_ / "nobody.sock");
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(*nobody);
  control_->stop();
  const auto gone = Takeover::begin(options_.control_socket);
  ASSERT_TRUE(gone);
  EXPECT_FALSE(*gone);
}

class RefusingEdge : public test::ControlThreadTest {};

TEST_F(RefusingEdge, SaysThatItsServiceManagerKeepsThePorts) {
  options_.takeover_refusal = "the manager keeps them";
  start();
  const auto refused = Takeover::begin(options_.control_socket);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("the manager keeps them"), std::string::npos);
}

}  // namespace
}  // namespace hedge::proxy
