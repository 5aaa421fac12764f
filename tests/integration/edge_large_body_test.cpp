// Bodies large enough to be moved inside the kernel: every byte in its place, and every way that they can end.
#include <atomic>
#include <csignal>
#include <future>
#include <semaphore>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";
const std::string kGet = "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n";

// As the program does: splice(2) knows no other way to a plain error.
class LargeBody : public testing::Test {
 protected:
  void SetUp() override { before_ = ::signal(SIGPIPE, SIG_IGN); }
  void TearDown() override { ::signal(SIGPIPE, before_); }

 private:
  void (*before_)(int) = SIG_DFL;
};

// No two places of the same look, so that a piece that is lost, doubled or exchanged shows.
std::string pattern(std::size_t bytes) {
  std::string text;
  text.reserve(bytes + 8);
  for (std::size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i) + ';';
  text.resize(bytes);
  return text;
}

std::string head_for(std::size_t bytes) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
}

TEST_F(LargeBody, ArrivesWholeAndTheConnectionsAreUsedAgain) {
  const std::string body = pattern(5'000'000);
  ScriptedUpstream upstream(answer_always(head_for(body.size()) + body));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  for (int i = 0; i < 10; ++i) {
    client.send(kGet);
    ASSERT_EQ(client.read_head().substr(0, 15), "HTTP/1.1 200 OK") << i;
    ASSERT_TRUE(client.read_bytes(body.size()) == body) << i;
  }
  EXPECT_EQ(upstream.accepted(), 1);
  client.close();
  const std::vector<std::string> log = edge.stop_and_read_log();
  ASSERT_EQ(log.size(), 10U);
  EXPECT_NE(log[0].find("\"bytes_out\":5000000"), std::string::npos) << log[0];
}

// One byte around each threshold of the copy and of the pieces.
TEST_F(LargeBody, OfAnyLength) {
  std::atomic<std::size_t> bytes = 0;
  ScriptedUpstream upstream([&bytes](PeerConnection& connection, int /*number*/) {
    while (!connection.read_head().empty()) connection.send(head_for(bytes) + pattern(bytes));
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  for (const std::size_t around : {16UL << 10, 32UL << 10, 48UL << 10, 64UL << 10, 256UL << 10, 512UL << 10}) {
    for (const std::size_t length : {around - 1, around, around + 1}) {
      bytes = length;
      client.send(kGet);
      ASSERT_EQ(field_of(client.read_head(), "Content-Length"), std::to_string(length));
      ASSERT_TRUE(client.read_bytes(length) == pattern(length)) << length;
    }
  }
  EXPECT_EQ(upstream.accepted(), 1);
}

// The sender goes on only when the client has what was sent: nothing is held back for a fuller piece.
TEST_F(LargeBody, PassesAtThePaceOfTheSender) {
  const std::string body = pattern(300'000);
  std::promise<void> seen;
  ScriptedUpstream upstream([&](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(head_for(body.size()) + body.substr(0, 100'000));
    if (seen.get_future().wait_for(kPeerLimit) == std::future_status::ready) connection.send(body.substr(100'000));
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  client.read_head();
  EXPECT_TRUE(client.read_bytes(100'000) == body.substr(0, 100'000));
  seen.set_value();
  EXPECT_TRUE(client.read_bytes(200'000) == body.substr(100'000));
}

TEST_F(LargeBody, CutShortByTheUpstreamIsSeenAsCut) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(head_for(1'000'000) + pattern(400'000));
    connection.fin();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  client.read_head();
  EXPECT_EQ(client.read_all().size(), 400'000U);
  const std::vector<std::string> log = edge.stop_and_read_log();
  ASSERT_EQ(log.size(), 1U);
  EXPECT_NE(log[0].find("upstream_closed"), std::string::npos) << log[0];
}

TEST_F(LargeBody, AClientThatLeavesEndsTheUpstreamsConnection) {
  std::promise<bool> ended;
  ScriptedUpstream upstream([&ended](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(head_for(100'000'000));
    const std::string piece = pattern(100'000);
    int sent = 0;
    while (sent < 1000 && connection.send(piece)) ++sent;
    ended.set_value(sent < 1000);
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  client.read_head();
  client.read_bytes(200'000);
  client.rst();
  std::future<bool> end = ended.get_future();
  ASSERT_EQ(end.wait_for(kPeerLimit), std::future_status::ready);
  EXPECT_TRUE(end.get());
  const std::vector<std::string> log = edge.stop_and_read_log();
  ASSERT_EQ(log.size(), 1U);
  EXPECT_NE(log[0].find("client_gone"), std::string::npos) << log[0];
}

// Bytes behind the body are nobody's: the connection that brought them is not used again.
TEST_F(LargeBody, WithBytesBehindItEndsTheConnection) {
  const std::string body = pattern(200'000);
  constexpr std::size_t kTail = 100;
  // The end of the body and what follows are one small piece, sent into an empty connection: they arrive together.
  std::counting_semaphore<> client_has_the_rest(0);
  ScriptedUpstream upstream([&](PeerConnection& connection, int /*number*/) {
    while (!connection.read_head().empty()) {
      connection.send(head_for(body.size()) + body.substr(0, body.size() - kTail));
      if (!client_has_the_rest.try_acquire_for(kPeerLimit)) return;
      connection.send(body.substr(body.size() - kTail) + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    }
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  for (int i = 0; i < 5; ++i) {
    client.send(kGet);
    client.read_head();
    ASSERT_TRUE(client.read_bytes(body.size() - kTail) == body.substr(0, body.size() - kTail)) << i;
    client_has_the_rest.release();
    ASSERT_TRUE(client.read_bytes(kTail) == body.substr(body.size() - kTail)) << i;
  }
}

TEST_F(LargeBody, LeavesNoDescriptorBehind) {
  const std::string body = pattern(300'000);
  ScriptedUpstream upstream(answer_always(head_for(body.size()) + body));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  const auto fetch_some = [&](int times) {
    PeerConnection client = PeerConnection::to(edge.plain_port());
    for (int i = 0; i < times; ++i) {
      client.send(kGet);
      client.read_head();
      client.read_bytes(body.size());
    }
  };
  fetch_some(1);
  const std::size_t before = open_descriptors();
  fetch_some(50);
  EXPECT_LE(open_descriptors(), before + 1) << "the client's own connection may still be closing";
}

}  // namespace
}  // namespace hedge::test
