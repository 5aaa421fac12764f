// What happens when one side is slower than the other: frames wait for room, and nothing is lost, mixed up or
// repeated.
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/http2_peer.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";
constexpr std::uint32_t kWideOpen = 1U << 30;

// Every place of it can be told from its neighbours.
std::string counting_text(std::size_t bytes) {
  std::string text;
  text.reserve(bytes + 16);
  for (std::size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i) + ' ';
  text.resize(bytes);
  return text;
}

// Its windows never stop the edge; only the socket does.
void start_wide_open(Http2Peer& client) {
  client.hold_credit();
  client.start(h2::setting(h2::kInitialWindowSize, kWideOpen));
  client.give_credit(0, kWideOpen);
}

// Answers each request with as many bytes as its path says.
ScriptedUpstream::Script answer_bytes() {
  return [](PeerConnection& connection, int /*number*/) {
    for (;;) {
      const std::string head = connection.read_head();
      if (head.empty()) return;
      const std::size_t bytes = std::stoul(head.substr(head.find('/') + 1));
      if (!connection.send(ok_response(counting_text(bytes)))) return;
    }
  };
}

// E-25: far more than the sockets hold, to a client that reads slower than the upstream writes.
TEST(Http2Pace, ASlowReaderGetsEveryByteOfALargeResponse) {
  ScriptedUpstream upstream(answer_bytes());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  start_wide_open(client);
  const std::size_t bytes = 24U << 20;
  client.send_headers(1, h2::get(kAlpha, "/" + std::to_string(bytes)));
  client.send_headers(3, h2::get(kAlpha, "/" + std::to_string(bytes / 3)));
  EXPECT_TRUE(client.answer(1).ended);
  EXPECT_TRUE(client.so_far(1).body == counting_text(bytes)) << client.so_far(1).body.size();
  EXPECT_TRUE(client.answer(3).body == counting_text(bytes / 3)) << client.so_far(3).body.size();
  EXPECT_TRUE(client.ping());
}

// The last frame of an answer does not fit behind the others of the same turn.
TEST(Http2Pace, AnAnswerOfAnySizeEnds) {
  ScriptedUpstream upstream(answer_bytes());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  start_wide_open(client);
  std::uint32_t stream = 1;
  for (std::size_t bytes = 65'400; bytes < 65'560; bytes += 5, stream += 2) {
    client.send_headers(stream, h2::get(kAlpha, "/" + std::to_string(bytes)));
    ASSERT_TRUE(client.answer(stream).ended) << bytes;
    ASSERT_TRUE(client.so_far(stream).body == counting_text(bytes)) << bytes;
  }
}

TEST(Http2Pace, ManyAnswersThatShareTheRoomEnd) {
  ScriptedUpstream upstream(answer_bytes());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  start_wide_open(client);
  std::uint32_t first = 1;
  for (int round = 0; round < 10; ++round, first += 40) {
    for (std::uint32_t i = 0; i < 20; ++i)
      client.send_headers(first + 2 * i, h2::get(kAlpha, "/" + std::to_string(17'000 + 1'500 * i)));
    for (std::uint32_t i = 0; i < 20; ++i) {
      ASSERT_TRUE(client.answer(first + 2 * i).ended) << round << ' ' << i;
      ASSERT_TRUE(client.so_far(first + 2 * i).body == counting_text(17'000 + 1'500 * i)) << round;
    }
  }
}

// Their windows are wide open, the connection's is the usual one.
TEST(Http2Pace, E35_AResponseOfAnySizeLeavesTheOthersTheirShareOfTheConnectionsWindow) {
  ScriptedUpstream upstream(answer_bytes());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start(h2::setting(h2::kInitialWindowSize, kWideOpen));
  const std::size_t large = 16U << 20;
  const std::size_t small = 400'000;
  client.send_headers(1, h2::get(kAlpha, "/" + std::to_string(large)));
  ASSERT_TRUE(client.read_until([&client] { return client.so_far(1).body.size() > 60'000; }));
  for (std::uint32_t stream = 3; stream <= 7; stream += 2)
    client.send_headers(stream, h2::get(kAlpha, "/" + std::to_string(small)));
  for (std::uint32_t stream = 3; stream <= 7; stream += 2)
    ASSERT_TRUE(client.answer(stream).body == counting_text(small)) << stream;
  EXPECT_LT(client.so_far(1).body.size(), large / 2);
  EXPECT_TRUE(client.answer(1).body == counting_text(large));
}

// The same towards an upstream, where the other streams are other people's.
TEST(Http2Pace, E35_AnUploadLeavesTheOthersTheirShareOfTheUpstreamsWindow) {
  const std::size_t large = 16U << 20;
  const std::size_t small = 400'000;
  std::size_t large_so_far = 0;
  ScriptedUpstream upstream([&large_so_far](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection, h2::setting(h2::kInitialWindowSize, kWideOpen));
    for (std::uint32_t stream = 3; stream <= 5; stream += 2) {
      if (!peer.answer(stream).ended) return;
    }
    large_so_far = peer.so_far(1).body.size();
    for (std::uint32_t stream = 1; stream <= 5; stream += 2) {
      peer.answer(stream);
      peer.respond(stream, {{":status", "200"}}, std::to_string(peer.so_far(stream).body.size()));
    }
    peer.wait_for_end();
  });
  {
    router::Route route = route_to(kAlpha, upstream.route());
    route.protocol = router::Protocol::h2c;
    EdgeFixture edge({route});
    const auto upload = [&edge](std::size_t bytes) {
      PeerConnection client = PeerConnection::to(edge.plain_port());
      client.send("POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nConnection: close\r\nContent-Length: " +
                  std::to_string(bytes) + "\r\n\r\n");
      return std::pair(std::move(client), counting_text(bytes));
    };
    auto first = upload(large);
    std::thread sender([&first] { first.first.send(first.second); });
    ASSERT_TRUE(upstream.wait_until([](const std::string& got, int) { return got.size() > 60'000; }));
    auto second = upload(small);
    auto third = upload(small);
    std::thread other_sender([&second] { second.first.send(second.second); });
    third.first.send(third.second);
    other_sender.join();
    for (auto* each : {&second, &third})
      EXPECT_EQ(body_of(each->first.read_all()), "6\r\n400000\r\n0\r\n\r\n");
    sender.join();
    EXPECT_EQ(body_of(first.first.read_all()), "8\r\n16777216\r\n0\r\n\r\n");
  }
  EXPECT_LT(large_so_far, large / 2);
}

}  // namespace
}  // namespace hedge::test
