// What an h2c upstream may do with header blocks: interim heads, trailers, and heads that come in parts.
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/event_count.h"
#include "tests/support/http2_peer.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";

router::Route h2c_route(const ScriptedUpstream& upstream) {
  router::Route route = route_to(kAlpha, upstream.route());
  route.protocol = router::Protocol::h2c;
  return route;
}

std::string interim(const std::string& link) {
  return h2::frame(h2::kHeaders, h2::kEndHeaders, 1, h2::header_block({{":status", "103"}, {"link", link}}));
}

TEST(Http2UpstreamHead, AFinalHeadThatComesInPartsBehindAnInterimOneIsWhole) {
  EventCount interim_arrived;
  ScriptedUpstream upstream([&interim_arrived](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    peer.request(1);
    peer.send(interim("</a>") + h2::frame(h2::kHeaders, h2::kEndStream, 1,
                                          h2::header_block({{":status", "200"}, {"x-first", "1"}})));
    interim_arrived.wait_for(1);
    peer.send_frame(h2::kContinuation, 0, 1, h2::header_block({{"set-cookie", "a=1"}, {"x-second", "2"}}));
    peer.send_frame(h2::kContinuation, h2::kEndHeaders, 1, h2::header_block({{"x-third", "3"}}));
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  ASSERT_TRUE(client.read_until([&client] { return !client.so_far(1).heads.empty(); }));
  EXPECT_EQ(client.so_far(1).field("link"), "</a>");
  interim_arrived.add();
  const Http2Answer& answer = client.answer(1);
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.field("x-first"), "1");
  EXPECT_NE(answer.field("set-cookie"), "");
  EXPECT_EQ(answer.field("x-second"), "2");
  EXPECT_EQ(answer.field("x-third"), "3");
}

TEST(Http2UpstreamHead, InterimHeadsWithoutEndAreABadResponse) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    peer.request(1);
    const std::string large(10'000, 'l');
    for (int i = 0; i < 1'000; ++i) {
      if (!peer.send(interim(large))) return;
    }
    peer.read_until([&peer] { return peer.so_far(1).reset.has_value(); });
    peer.request(3);
    peer.respond(3, {{":status", "200"}}, "next");
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  const Http2Answer& answer = client.answer(1);
  EXPECT_EQ(answer.status(), 502);
  EXPECT_EQ(answer.field("hedge-error"), "upstream_bad_response");
  EXPECT_LT(answer.heads.size(), 50U);
  client.send_headers(3, h2::get(kAlpha));
  EXPECT_EQ(client.answer(3).body, "next");
  EXPECT_EQ(upstream.accepted(), 1) << "only the stream is ended";
}

class Http2UpstreamTrailers : public testing::TestWithParam<std::pair<const char*, h2::Fields>> {};

TEST_P(Http2UpstreamTrailers, ThatAreBadDoNotLookLikeAWholeResponse) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    for (std::uint32_t stream = 1; !peer.request(stream).empty(); stream += 2) {
      peer.send_headers(stream, {{":status", "200"}}, h2::kNone);
      peer.send_frame(h2::kData, 0, stream, "body");
      peer.send_long_headers(stream, GetParam().second);
    }
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  EXPECT_FALSE(client.answer(1).ended);
  EXPECT_TRUE(client.so_far(1).reset.has_value() || client.so_far(1).status() == 502);
  const std::string http1 = get(edge.plain_port(), kAlpha);
  EXPECT_FALSE(status_of(http1) == 200 && http1.ends_with("0\r\n\r\n")) << http1;
}

h2::Fields too_large() {
  h2::Fields fields;
  for (int i = 0; i < 10; ++i)
    fields.emplace_back("grpc-status-details-bin-" + std::to_string(i), std::string(9'000, 'd'));
  fields.emplace_back("grpc-status", "13");
  return fields;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Http2UpstreamTrailers,
                         testing::Values(std::pair("TooLarge", too_large()),
                                         std::pair("Malformed", h2::Fields{{"x-sum", "1\r\nx: 2"}})),
                         [](const auto& row) { return std::string(row.param.first); });

TEST(Http2UpstreamHead, AClientsBadTrailersDoNotCompleteItsRequest) {
  EventCount ended;
  std::string received;
  ScriptedUpstream upstream([&ended, &received](PeerConnection& connection, int /*number*/) {
    received = connection.read_all();
    ended.add();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::post(kAlpha), h2::kNone);
  client.send_body(1, "begin", false);
  ASSERT_TRUE(upstream.wait_until(
      [](const std::string& got, int) { return got.find("begin") != std::string::npos; }));
  client.send_headers(1, {{"x-sum", "1\r\nx: 2"}});
  EXPECT_EQ(client.answer(1).reset, h2::kProtocolError);
  ASSERT_TRUE(ended.wait_for(1));
  EXPECT_FALSE(received.ends_with("0\r\n\r\n")) << received;
}

TEST(Http2UpstreamHead, ARequestIsNotRepeatedOnceAPartOfAHeadHasCome) {
  ScriptedUpstream upstream([](PeerConnection& connection, int number) {
    Http2Peer peer(connection);
    peer.request(1);
    peer.respond(1, {{":status", "200"}}, std::to_string(number));
    if (number > 0) peer.wait_for_end();
    peer.request(3);
    peer.send_frame(h2::kHeaders, h2::kEndStream, 3, h2::header_block({{":status", "200"}}));
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  EXPECT_EQ(client.answer(1).body, "0");
  client.send_headers(3, h2::get(kAlpha));
  EXPECT_EQ(client.answer(3).status(), 502);
  EXPECT_EQ(upstream.accepted(), 1);
}

// RFC 9110, section 7.8: a server may ignore the wish to switch, and so does a proxy that cannot pass it on.
TEST(Http2UpstreamHead, AWishToSwitchToAnotherProtocolIsIgnored) {
  std::string seen;
  ScriptedUpstream upstream([&seen](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    for (const auto& [name, value] : peer.request(1)) seen += name + "=" + value + ";";
    peer.respond(1, {{":status", "200"}}, "ok");
    peer.wait_for_end();
  });
  {
    EdgeFixture edge({h2c_route(upstream)});
    const std::string response =
        fetch(edge.plain_port(),
              "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nConnection: Upgrade\r\nUpgrade: TLS/1.2\r\n");
    EXPECT_EQ(status_of(response), 200) << response;
  }
  EXPECT_NE(seen.find(":path=/;"), std::string::npos);
  EXPECT_EQ(seen.find("upgrade"), std::string::npos) << seen;
}

}  // namespace
}  // namespace hedge::test
