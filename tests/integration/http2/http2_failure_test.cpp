// What an HTTP/2 client sees, and what else happens, when something ends too early.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/event_count.h"
#include "tests/support/http2_peer.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";
constexpr const char* kBeta = "beta.dev.localhost";

// Reads a head, then waits for the edge to end the connection.
ScriptedUpstream::Script never_answer(EventCount& ended) {
  return [&ended](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    if (connection.wait_for_end()) ended.add();
  };
}

TEST(Http2Failure, AnUpstreamThatDiesWithinTheBodyResetsTheStream) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  const Http2Answer& answer = client.answer(1);
  EXPECT_EQ(answer.body, "half");
  EXPECT_FALSE(answer.ended);
  EXPECT_EQ(answer.reset, h2::kInternalError);
  EXPECT_TRUE(client.ping()) << "the connection goes on";
}

TEST(Http2Failure, AnUpstreamThatDiesBeforeItAnswersIsABadGateway) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) { connection.read_head(); });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  EXPECT_EQ(client.answer(1).status(), 502);
  EXPECT_EQ(client.so_far(1).field("hedge-error"), "upstream_closed");
}

TEST(Http2Failure, AResetStreamCancelsItsUpstreamRequestAndIsLoggedAs499) {
  EventCount ended;
  ScriptedUpstream upstream(never_answer(ended));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  ASSERT_TRUE(upstream.wait_until([](const std::string& got, int) { return got.ends_with("\r\n\r\n"); }));
  client.send_frame(h2::kRstStream, 0, 1, h2::number32(h2::kCancel));
  EXPECT_TRUE(ended.wait_for(1));
  EXPECT_TRUE(client.ping());
  client.plain()->close();
  const auto log = edge.stop_and_read_log();
  ASSERT_EQ(log.size(), 1U);
  EXPECT_NE(log[0].find("\"status\":499"), std::string::npos) << log[0];
  EXPECT_NE(log[0].find("client_gone"), std::string::npos) << log[0];
}

TEST(Http2Failure, AClientThatIsGoneCancelsAllOfItsRequests) {
  EventCount ended;
  ScriptedUpstream upstream(never_answer(ended));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  {
    Http2Peer client(edge.plain_port());
    client.start();
    for (std::uint32_t stream = 1; stream < 20; stream += 2) client.send_headers(stream, h2::get(kAlpha));
    ASSERT_TRUE(upstream.wait_until([](const std::string&, int accepted) { return accepted == 10; }));
    ASSERT_TRUE(client.ping());
  }
  EXPECT_TRUE(ended.wait_for(10));
}

TEST(Http2Failure, AResetWithinAnUploadEndsTheUpstreamsConnection) {
  EventCount ended;
  ScriptedUpstream upstream([&ended](PeerConnection& connection, int /*number*/) {
    connection.read_until("begin");
    if (connection.wait_for_end()) ended.add();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::post(kAlpha), h2::kNone);
  client.send_body(1, "begin", false);
  ASSERT_TRUE(upstream.wait_until(
      [](const std::string& got, int) { return got.find("begin") != std::string::npos; }));
  client.send_frame(h2::kRstStream, 0, 1, h2::number32(h2::kCancel));
  EXPECT_TRUE(ended.wait_for(1));
}

TEST(Http2Failure, AnEarlyAnswerToAnUploadIsWholeAndTheRestIsNotWanted) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_until("begin");
    connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig");
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::post(kAlpha), h2::kNone);
  client.send_body(1, "begin", false);
  const Http2Answer& answer = client.answer(1);
  EXPECT_EQ(answer.status(), 413);
  EXPECT_EQ(answer.body, "big");
  EXPECT_TRUE(answer.ended);
  ASSERT_TRUE(client.read_until([&answer] { return answer.reset.has_value(); }));
  EXPECT_EQ(answer.reset, h2::kNoError);
}

// The connection's window is not what one stream keeps.
TEST(Http2Failure, E35_OneStalledStreamStopsNoOther) {
  ScriptedUpstream stalled([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    // Never reads on: whatever the kernel takes fills its buffers.
    connection.wait_for_end();
  });
  const std::string megabyte(1U << 20, 'm');
  ScriptedUpstream good([&megabyte](PeerConnection& connection, int /*number*/) {
    for (;;) {
      if (connection.read_head().empty()) return;
      if (connection.read_bytes(megabyte.size()).size() < megabyte.size()) return;
      connection.send(ok_response("taken"));
    }
  });
  EdgeFixture edge({route_to(kAlpha, stalled.route()), route_to(kBeta, good.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::post(kAlpha), h2::kNone);
  // As much as its own window allows, and more than its upstream will ever read.
  for (int i = 0; i < 4; ++i) client.send_frame(h2::kData, 0, 1, std::string(16'000, 's'));
  for (std::uint32_t stream = 3; stream <= 21; stream += 2) {
    client.send_headers(stream, h2::with(h2::post(kBeta), "content-length", std::to_string(megabyte.size())),
                        h2::kNone);
    ASSERT_TRUE(client.send_body(stream, megabyte));
    ASSERT_EQ(client.answer(stream).body, "taken") << stream;
  }
  client.send_frame(h2::kRstStream, 0, 1, h2::number32(h2::kCancel));
  for (std::uint32_t stream = 23; stream <= 221; stream += 2) {
    client.send_headers(stream, h2::with(h2::post(kBeta), "content-length", std::to_string(megabyte.size())),
                        h2::kNone);
    client.send_body(stream, std::string_view(megabyte).substr(0, 1000), false);
    client.send_frame(h2::kRstStream, 0, stream, h2::number32(h2::kCancel));
  }
  client.send_headers(223, h2::with(h2::post(kBeta), "content-length", std::to_string(megabyte.size())),
                      h2::kNone);
  ASSERT_TRUE(client.send_body(223, megabyte)) << "reset streams have given back their share";
  EXPECT_EQ(client.answer(223).body, "taken");
}

TEST(Http2Failure, AClientThatDoesNotReadOneResponseGetsTheOthers) {
  const std::string megabyte(1U << 20, 'm');
  ScriptedUpstream upstream([&megabyte](PeerConnection& connection, int /*number*/) {
    for (;;) {
      const std::string head = connection.read_head();
      if (head.empty()) return;
      if (!connection.send(ok_response(head.starts_with("GET /large") ? megabyte : "small"))) return;
    }
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.hold_credit();
  client.give_credit(0, 1U << 30);
  client.send_headers(1, h2::get(kAlpha, "/large"));
  ASSERT_TRUE(client.read_until([&client] { return client.so_far(1).body.size() == 65'535; }));
  for (std::uint32_t stream = 3; stream < 40; stream += 2) {
    client.send_headers(stream, h2::get(kAlpha, "/small"));
    ASSERT_EQ(client.answer(stream).body, "small");
  }
  EXPECT_EQ(client.so_far(1).body.size(), 65'535U);
  client.give_credit(1, 1U << 30);
  EXPECT_TRUE(client.answer(1).body == megabyte);
}

TEST(Http2Failure, ASuccessorIsAnnouncedToEveryConnectionAndWhatIsUnderWayFinishes) {
  EventCount go_on;
  ScriptedUpstream upstream([&go_on](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    go_on.wait_for(1);
    connection.send(ok_response("late"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer busy(edge.plain_port());
  busy.start();
  busy.send_headers(1, h2::get(kAlpha));
  ASSERT_TRUE(upstream.wait_until([](const std::string&, int accepted) { return accepted == 1; }));
  Http2Peer idle(edge.plain_port());
  idle.start();
  ASSERT_TRUE(idle.ping());
  edge.server().leave_to_successor();
  EXPECT_TRUE(idle.wait_for_end());
  EXPECT_EQ(idle.goaway_code(), h2::kNoError);
  ASSERT_TRUE(busy.wait_for_goaway()) << "its next request must go to the successor";
  EXPECT_EQ(busy.goaway_code(), h2::kNoError);
  go_on.add();
  EXPECT_EQ(busy.answer(1).body, "late");
  EXPECT_TRUE(busy.wait_for_end());
}

TEST(Http2Failure, ADrainLetsRequestsFinishAndEndsTheConnection) {
  EventCount go_on;
  ScriptedUpstream upstream([&go_on](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    go_on.wait_for(1);
    connection.send(ok_response("late"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  ASSERT_TRUE(upstream.wait_until([](const std::string&, int accepted) { return accepted == 1; }));
  edge.server().begin_drain();
  ASSERT_TRUE(client.wait_for_goaway());
  EXPECT_EQ(client.goaway_code(), h2::kNoError);
  EXPECT_EQ(client.goaway_last_stream(), 0x7fffffffU) << "a notice first";
  // What the client sent before it knew.
  client.send_headers(3, h2::get(kAlpha));
  ASSERT_TRUE(client.read_until([&client] { return client.goaways() == 2; }));
  EXPECT_EQ(client.goaway_last_stream(), 3U);
  go_on.add();
  EXPECT_EQ(client.answer(1).body, "late");
  EXPECT_EQ(client.answer(3).body, "late");
  EXPECT_TRUE(client.wait_for_end());
}

TEST(Http2Failure, ADrainEndsAnIdleConnectionWithAGoaway) {
  EdgeFixture edge({});
  Http2Peer client(edge.plain_port());
  client.start();
  ASSERT_TRUE(client.ping());
  edge.server().begin_drain();
  EXPECT_TRUE(client.wait_for_end());
  EXPECT_EQ(client.goaway_code(), h2::kNoError);
}

int goaways_in(std::string_view frames) {
  int found = 0;
  while (frames.size() >= 9) {
    if (frames[3] == h2::kGoaway) ++found;
    const std::size_t bytes = 9 + h2::number32_of(std::string(1, '\0') + std::string(frames.substr(0, 3)));
    frames.remove_prefix(std::min(frames.size(), bytes));
  }
  return found;
}

TEST(Http2Failure, ADrainDoesNotWaitForAClientThatSaysNothing) {
  EdgeOptions options;
  // Far more than the client's own limit, which is to end it.
  options.settings.limits.drain = std::chrono::seconds(60);
  options.settings.limits.sweep = std::chrono::milliseconds(20);
  EdgeFixture edge({}, std::move(options));
  PeerConnection client = PeerConnection::to(edge.plain_port());
  // Never acknowledges the PING of the shutdown.
  client.send(std::string(h2::kPreface) + h2::frame(h2::kSettings, 0, 0, {}));
  client.read_bytes(9 + 4 * 6);
  edge.server().begin_drain();
  EXPECT_EQ(goaways_in(client.read_all()), 2) << "a notice, and the last stream's number";
}

}  // namespace
}  // namespace hedge::test
