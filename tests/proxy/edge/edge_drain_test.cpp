// The end of an edge: nothing new, idle connections at once, the others as far as the limit allows.
#include <cerrno>
#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "proxy/upstream/endpoint.h"
#include "tests/proxy/edge/line_edge.h"
#include "tests/support/busy_worker.h"
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
  EdgeLimits limits = patient_limits();
  limits.drain_first_request = 60s;  // is for connections without a request alone
  LineEdge edge(limits);
  PeerConnection used = PeerConnection::to(edge.plain_port());
  used.send("x\n");
  EXPECT_EQ(used.read_until("\n"), "ok:x\n");
  edge.drain_and_join();
  EXPECT_TRUE(used.wait_for_end());
}

TEST(EdgeDrain, ClosesAtOnceWhatHasNeverHadARequestForLong) {
  EdgeLimits limits = patient_limits();
  limits.drain_first_request = 0ms;
  LineEdge edge(limits);
  PeerConnection unused = PeerConnection::to(edge.plain_port());
  EXPECT_TRUE(edge.wait_for_open(1));
  edge.drain_and_join();
  EXPECT_TRUE(unused.wait_for_end());
}

TEST(EdgeDrain, WaitsAMomentForTheFirstRequestOfAClientThatWasJustAccepted) {
  EdgeLimits limits = patient_limits();
  limits.drain_first_request = 30s;
  LineEdge edge(limits);
  PeerConnection idle = PeerConnection::to(edge.plain_port());
  idle.send("x\n");
  EXPECT_EQ(idle.read_until("\n"), "ok:x\n");
  PeerConnection accepted = PeerConnection::to(edge.plain_port());
  EXPECT_TRUE(edge.wait_for_open(2));
  edge.server().begin_drain();
  EXPECT_TRUE(idle.wait_for_end()) << "the drain has begun";
  accepted.send("x\n");
  EXPECT_EQ(accepted.read_until("\n"), "ok:x\n");
  EXPECT_TRUE(accepted.wait_for_end());
  edge.server().join();
}

TEST(EdgeDrain, EndsTheWaitForAFirstRequestInTime) {
  EdgeLimits limits = patient_limits();
  limits.drain_first_request = 200ms;
  LineEdge edge(limits);
  PeerConnection silent = PeerConnection::to(edge.plain_port());
  EXPECT_TRUE(edge.wait_for_open(1));
  edge.server().begin_drain();
  EXPECT_TRUE(silent.wait_for_end()) << "long before the drain's own limit";
  edge.server().join();
}

TEST(EdgeDrain, LetsAnExchangeFinish) {
  LineEdge edge(patient_limits());
  PeerConnection idle = PeerConnection::to(edge.plain_port());
  idle.send("x\n");
  EXPECT_EQ(idle.read_until("\n"), "ok:x\n");
  PeerConnection busy = PeerConnection::to(edge.plain_port());
  busy.send("hold\n");
  EXPECT_EQ(busy.read_until("\n"), "holding\n");
  edge.server().begin_drain();
  EXPECT_TRUE(idle.wait_for_end()) << "the drain has begun";
  busy.send("x");
  EXPECT_EQ(busy.read_until("\n"), "held\n");
  EXPECT_TRUE(busy.wait_for_end());
  edge.server().join();
}

TEST(EdgeDrain, ServesOneRequestOfClientsThatWaitInTheQueue) {
  LineEdge edge(patient_limits());
  std::vector<PeerConnection> clients;
  {
    const BusyWorker busy(*edge.server().workers().front());
    for (int i = 0; i < 100; ++i) {
      clients.push_back(PeerConnection::to(edge.plain_port()));
      clients.back().send("x\n");
    }
    edge.server().begin_drain();
  }
  for (PeerConnection& client : clients) {
    EXPECT_EQ(client.read_until("\n"), "ok:x\n");
    EXPECT_TRUE(client.wait_for_end());
  }
  edge.server().join();
}

TEST(EdgeDrain, WaitsAMomentForTheRequestOfAClientInTheQueue) {
  EdgeLimits limits = patient_limits();
  limits.drain_first_request = 30s;
  LineEdge edge(limits);
  std::unique_ptr<PeerConnection> client;
  {
    const BusyWorker busy(*edge.server().workers().front());
    client = std::make_unique<PeerConnection>(PeerConnection::to(edge.plain_port()));
    edge.server().begin_drain();
  }
  client->send("x\n");
  EXPECT_EQ(client->read_until("\n"), "ok:x\n");
  EXPECT_TRUE(client->wait_for_end());
  edge.server().join();
}

TEST(EdgeDrain, ButNotForLong) {
  EdgeLimits limits = patient_limits();
  limits.drain_first_request = 20ms;
  LineEdge edge(limits);
  std::unique_ptr<PeerConnection> client;
  {
    const BusyWorker busy(*edge.server().workers().front());
    client = std::make_unique<PeerConnection>(PeerConnection::to(edge.plain_port()));
    edge.server().begin_drain();
  }
  EXPECT_TRUE(client->wait_for_end()) << "long before the drain's own limit";
  edge.server().join();
}

TEST(EdgeDrain, ServesARequestThatCameToAnIdleConnectionBeforeIt) {
  LineEdge edge(patient_limits());
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("x\n");
  EXPECT_EQ(client.read_until("\n"), "ok:x\n");
  {
    const BusyWorker busy(*edge.server().workers().front());
    client.send("y\n");
    edge.server().begin_drain();
  }
  EXPECT_EQ(client.read_until("\n"), "ok:y\n");
  EXPECT_TRUE(client.wait_for_end());
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
