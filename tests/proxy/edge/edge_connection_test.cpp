// From accept to the last byte: what a connection may do, and how long.
#include <chrono>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/log.h"
#include "router/route_table.h"
#include "tests/proxy/edge/line_edge.h"
#include "tests/support/edge_fixture.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

using namespace std::chrono_literals;
using proxy::EdgeLimits;

TEST(EdgeConnection, ServesRequestsOneAfterTheOtherAndPipelinedOnes) {
  LineEdge edge;
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("one\n");
  EXPECT_EQ(client.read_until("\n"), "ok:one\n");
  client.send("two\nthree\n");
  EXPECT_EQ(client.read_until("\n"), "ok:two\n");
  EXPECT_EQ(client.read_until("\n"), "ok:three\n");
}

TEST(EdgeConnection, IsFlaggedForHttpsWhenItSpeaksPlainOnTheTlsPort) {
  LineEdge edge;
  PeerConnection on_plain = PeerConnection::to(edge.plain_port());
  on_plain.send("who\n");
  EXPECT_EQ(on_plain.read_until("\n"), "tls=0 https=0 alpn= name= ip=127.0.0.1\n");
  PeerConnection on_tls = PeerConnection::to(edge.tls_port());
  on_tls.send("who\n");
  EXPECT_EQ(on_tls.read_until("\n"), "tls=0 https=1 alpn= name= ip=127.0.0.1\n");
}

TEST(EdgeConnection, IsSpreadOverAllWorkers) {
  LineEdge edge(EdgeLimits(), 2);
  std::vector<PeerConnection> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(PeerConnection::to(edge.plain_port()));
    clients.back().send("x\n");
    EXPECT_EQ(clients.back().read_until("\n"), "ok:x\n");
  }
  for (const auto& worker : edge.server().workers()) EXPECT_GT(worker->stats().connections_total.value(), 0U);
  EXPECT_EQ(edge.server().facts().connections, 64U);
}

TEST(EdgeConnection, SeesTheRoutesThatWerePublishedLast) {
  LineEdge edge(EdgeLimits(), 2);
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("route alpha.dev.localhost\n");
  EXPECT_EQ(client.read_until("\n"), "unknown\n");
  edge.server().publish(router::RouteTable::build({route_to("alpha.dev.localhost", "tcp:127.0.0.1:1")}));
  // The message reaches the worker before this connection's next bytes are looked at, or a turn later.
  std::string answer;
  for (int i = 0; i < 1000 && answer != "known\n"; ++i) {
    client.send("route ALPHA.dev.localhost\n");
    answer = client.read_until("\n");
  }
  EXPECT_EQ(answer, "known\n");
}

TEST(EdgeConnection, IsClosedWhenItSaysNothingAtAll) {
  LineEdge edge(short_limits());
  PeerConnection plain = PeerConnection::to(edge.plain_port());
  PeerConnection tls = PeerConnection::to(edge.tls_port());
  EXPECT_TRUE(plain.wait_for_end());
  EXPECT_TRUE(tls.wait_for_end());
}

TEST(EdgeConnection, IsClosedWhenItIsIdleTooLong) {
  LineEdge edge(short_limits());
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("x\n");
  EXPECT_EQ(client.read_until("\n"), "ok:x\n");
  EXPECT_TRUE(client.wait_for_end());
}

TEST(EdgeConnection, IsClosedWhenTheRequestHeadIsNotCompleteInTime) {
  EdgeLimits limits = short_limits();
  limits.idle_keep_alive = 1h;
  LineEdge edge(limits);
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("half a he");
  EXPECT_TRUE(client.wait_for_end());
}

TEST(EdgeConnection, HasNoDeadlineOnceTheHeadIsComplete) {
  EdgeLimits limits = short_limits();
  LineEdge edge(limits);
  PeerConnection holding = PeerConnection::to(edge.plain_port());
  holding.send("hold\n");
  EXPECT_EQ(holding.read_until("\n"), "holding\n");
  // Three connections, one after the other, each live for a whole idle limit: the first one outlives them.
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(PeerConnection::to(edge.plain_port()).wait_for_end());
  EXPECT_TRUE(edge.wait_for_open(1));
  holding.send("x");
  EXPECT_EQ(holding.read_until("\n"), "held\n");
}

// E-25
TEST(EdgeConnection, E25_HalfOpenOnesAreClosedAndLeaveNothingBehind) {
  LineEdge edge(short_limits());
  EXPECT_TRUE(edge.wait_for_open(0));
  const std::size_t before = open_descriptors();
  {
    std::vector<PeerConnection> half_open;
    for (int i = 0; i < 100; ++i) {
      half_open.push_back(PeerConnection::to(i % 2 == 0 ? edge.tls_port() : edge.plain_port()));
      if (i % 4 == 0) half_open.back().send("\x16\x03");
    }
    for (PeerConnection& each : half_open) EXPECT_TRUE(each.wait_for_end());
  }
  EXPECT_TRUE(edge.wait_for_open(0));
  EXPECT_EQ(open_descriptors(), before);
}

// E-25
TEST(EdgeConnection, E25_BytesOfNoProtocolHarmNobodyElse) {
  LineEdge edge(short_limits());
  PeerConnection good = PeerConnection::to(edge.plain_port());
  std::string noise(1 << 20, '\0');
  std::uint32_t state = 1;
  for (char& byte : noise) byte = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
  noise[0] = '\x16';
  for (int i = 0; i < 20; ++i) {
    PeerConnection bad = PeerConnection::to(edge.tls_port());
    bad.send(noise);
    EXPECT_TRUE(bad.wait_for_end());
    good.send("still there\n");
    EXPECT_EQ(good.read_until("\n"), "ok:still there\n");
  }
}

class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t most) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit lower = before_;
    lower.rlim_cur = most;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~DescriptorLimit() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

TEST(EdgeConnection, WaitsInTheQueueWhileThereAreNoDescriptorsAndIsServedAfterwards) {
  // The type check of UBSan needs a descriptor the first time that it meets the logger.
  log::info("all descriptors will be used up");
  LineEdge edge;
  PeerConnection first = PeerConnection::to(edge.plain_port());
  first.send("x\n");
  EXPECT_EQ(first.read_until("\n"), "ok:x\n");
  // Made before the limit; connected under it, it finds no descriptor on the edge's side.
  PeerConnection waiting = [&] {
    const DescriptorLimit limit(open_descriptors());
    PeerConnection client = PeerConnection::to(edge.plain_port());
    client.send("y\n");
    first.send("still served\n");
    EXPECT_EQ(first.read_until("\n"), "ok:still served\n");
    return client;
  }();
  EXPECT_EQ(waiting.read_until("\n"), "ok:y\n");
}

}  // namespace
}  // namespace hedge::test
