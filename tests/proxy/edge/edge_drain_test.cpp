// The end of an edge: nothing new, idle connections at once, the others as far as the limit allows.
#include <cerrno>
#include <chrono>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "proxy/upstream/endpoint.h"
#include "tests/proxy/edge/line_edge.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

using namespace std::chrono_literals;
using proxy::EdgeLimits;

EdgeLimits patient_limits() {
  EdgeLimits limits;
  limits.drain = 60s;
  limits.sweep = 20ms;
  return limits;
}

TEST(EdgeDrain, ClosesIdleConnectionsAtOnce) {
  LineEdge edge(patient_limits());
  PeerConnection used = PeerConnection::to(edge.plain_port());
  used.send("x\n");
  EXPECT_EQ(used.read_until("\n"), "ok:x\n");
  PeerConnection unused = PeerConnection::to(edge.plain_port());
  EXPECT_TRUE(edge.wait_for_open(2));
  edge.drain_and_join();
  EXPECT_TRUE(used.wait_for_end());
  EXPECT_TRUE(unused.wait_for_end());
}

TEST(EdgeDrain, LetsAnExchangeFinish) {
  LineEdge edge(patient_limits());
  PeerConnection busy = PeerConnection::to(edge.plain_port());
  busy.send("hold\n");
  EXPECT_EQ(busy.read_until("\n"), "holding\n");
  PeerConnection idle = PeerConnection::to(edge.plain_port());
  EXPECT_TRUE(edge.wait_for_open(2));
  edge.server().begin_drain();
  EXPECT_TRUE(idle.wait_for_end()) << "the drain has begun";
  busy.send("x");
  EXPECT_EQ(busy.read_until("\n"), "held\n");
  EXPECT_TRUE(busy.wait_for_end());
  edge.server().join();
}

TEST(EdgeDrain, AcceptsNothingNew) {
  LineEdge edge(patient_limits());
  const std::uint16_t port = edge.plain_port();
  PeerConnection idle = PeerConnection::to(port);
  EXPECT_TRUE(edge.wait_for_open(1));
  edge.drain_and_join();
  const UniqueFd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = proxy::Endpoint::from_ip("127.0.0.1", port).value();
  EXPECT_NE(::connect(late.get(), address.address(), address.length()), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST(EdgeDrain, EndsWhatDoesNotFinishWithinTheLimit) {
  LineEdge edge(short_limits());
  PeerConnection busy = PeerConnection::to(edge.plain_port());
  busy.send("hold\n");
  EXPECT_EQ(busy.read_until("\n"), "holding\n");
  edge.drain_and_join();  // the test's own time limit would end it if it hung
  EXPECT_TRUE(busy.wait_for_end());
}

TEST(EdgeDrain, TellsWhenSomethingKeepsAWorkerFromEnding) {
  LineEdge edge(short_limits());
  PeerConnection stuck = PeerConnection::to(edge.plain_port());
  stuck.send("stuck\n");
  EXPECT_EQ(stuck.read_until("\n"), "stuck\n");
  edge.server().begin_drain();
  EXPECT_FALSE(edge.server().join_within(1ms));
  EXPECT_TRUE(edge.server().join_within(20s));
}

TEST(EdgeDrain, LeavesNoDescriptorBehind) {
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 5; ++i) {
    LineEdge edge(short_limits(), 2);
    PeerConnection client = PeerConnection::to(edge.plain_port());
    client.send("x\n");
    EXPECT_EQ(client.read_until("\n"), "ok:x\n");
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace hedge::test
