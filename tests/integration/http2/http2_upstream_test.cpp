// Upstreams that speak HTTP/2 without TLS: routes with the protocol h2c.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/event_count.h"
#include "tests/support/http2_peer.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";
const std::string kPost = "POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nContent-Length: 0\r\n";

router::Route h2c_route(const ScriptedUpstream& upstream) {
  router::Route route = route_to(kAlpha, upstream.route());
  route.protocol = router::Protocol::h2c;
  return route;
}

std::string value_of(const h2::Fields& fields, const std::string& name) {
  for (const auto& field : fields) {
    if (field.first == name) return field.second;
  }
  return {};
}

// Answers every request.
ScriptedUpstream::Script answer_all(h2::Fields fields, std::string body, h2::Fields trailers = {}) {
  return [=](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    for (std::uint32_t stream = 1; !peer.request(stream).empty(); stream += 2) {
      peer.answer(stream);  // to the end of the request
      peer.respond(stream, fields, body, trailers);
    }
  };
}

TEST(Http2Upstream, AnHttp1ClientsRequestIsTranslatedBothWays) {
  h2::Fields seen;
  ScriptedUpstream upstream([&seen](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    seen = peer.request(1);
    peer.respond(1, {{":status", "201"}, {"x-answer", "42"}, {"content-length", "5"}}, "hello");
    peer.wait_for_end();
  });
  {
    EdgeFixture edge({h2c_route(upstream)});
    const std::string response =
        fetch(edge.plain_port(),
              "GET /path?q=1 HTTP/1.1\r\nHost: alpha.dev.localhost\r\nX-Mixed-Case: yes\r\n"
              "Connection: X-Private\r\nX-Private: 1\r\nTE: trailers\r\nCookie: a=1\r\n");
    EXPECT_EQ(status_of(response), 201);
    EXPECT_EQ(field_of(response, "x-answer"), "42");
    EXPECT_EQ(body_of(response), "hello");
  }
  EXPECT_EQ(value_of(seen, ":method"), "GET");
  EXPECT_EQ(value_of(seen, ":scheme"), "http");
  EXPECT_EQ(value_of(seen, ":authority"), kAlpha);
  EXPECT_EQ(value_of(seen, ":path"), "/path?q=1");
  EXPECT_EQ(value_of(seen, "x-mixed-case"), "yes");
  EXPECT_EQ(value_of(seen, "te"), "trailers");
  EXPECT_EQ(value_of(seen, "x-forwarded-host"), kAlpha);
  for (const char* name : {"host", "connection", "x-private", "transfer-encoding"})
    EXPECT_EQ(value_of(seen, name), "") << name;
}

TEST(Http2Upstream, E12_TrailersPassFromHttp2ToHttp2AndToHttp1) {
  ScriptedUpstream upstream(answer_all({{":status", "200"}}, "ok", {{"grpc-status", "0"}, {"x-t", "1"}}));
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  const Http2Answer& answer = client.answer(1);
  ASSERT_EQ(answer.heads.size(), 2U);
  EXPECT_EQ(answer.heads[1], (h2::Fields{{"grpc-status", "0"}, {"x-t", "1"}}));
  const std::string http1 = get(edge.plain_port(), kAlpha);
  EXPECT_TRUE(http1.ends_with("2\r\nok\r\n0\r\ngrpc-status: 0\r\nx-t: 1\r\n\r\n")) << http1;
  EXPECT_EQ(upstream.accepted(), 1);
}

TEST(Http2Upstream, AnAnswerOfTrailersOnlyStaysOne) {
  ScriptedUpstream upstream(
      answer_all({{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "5"}}, ""));
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  const Http2Answer& answer = client.answer(1);
  ASSERT_EQ(answer.heads.size(), 1U);
  EXPECT_TRUE(answer.ended);
  EXPECT_TRUE(answer.data_lengths.empty());
  EXPECT_EQ(answer.field("grpc-status"), "5");
  EXPECT_EQ(answer.field("content-length"), "");
}

TEST(Http2Upstream, BodiesAndTrailersOfRequestsArrive) {
  std::string body;
  std::vector<h2::Fields> heads;
  ScriptedUpstream upstream([&](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    const Http2Answer& request = peer.answer(1);
    body = request.body;
    heads = request.heads;
    peer.respond(1, {{":status", "204"}});
    peer.wait_for_end();
  });
  const std::string large(300'000, 'b');
  {
    EdgeFixture edge({h2c_route(upstream)});
    PeerConnection client = PeerConnection::to(edge.plain_port());
    client.send(
        "POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nTransfer-Encoding: chunked\r\n\r\n493e0\r\n" +
        large + "\r\n0\r\nX-Sum: 7\r\n\r\n");
    EXPECT_EQ(status_of(client.read_head()), 204);
  }
  EXPECT_TRUE(body == large) << body.size();
  ASSERT_EQ(heads.size(), 2U);
  EXPECT_EQ(heads[1], (h2::Fields{{"x-sum", "7"}}));
}

TEST(Http2Upstream, MessagesGoToAndFroWithinOneRequest) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    peer.request(1);
    peer.send_headers(1, {{":status", "200"}}, h2::kNone);
    for (std::size_t i = 1; i <= 20; ++i) {
      if (!peer.read_until([&] { return peer.so_far(1).body.size() == 4 * i; })) return;
      peer.send_frame(h2::kData, 0, 1, "pong");
    }
    peer.read_until([&] { return peer.so_far(1).ended; });
    peer.send_headers(1, {{"grpc-status", "0"}});
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::with(h2::post(kAlpha), "te", "trailers"), h2::kNone);
  EXPECT_EQ(client.head(1).status(), 200);
  for (std::size_t i = 1; i <= 20; ++i) {
    client.send_body(1, "ping", false);
    ASSERT_TRUE(client.read_until([&] { return client.so_far(1).body.size() == 4 * i; })) << i;
  }
  client.send_body(1, "", true);
  EXPECT_EQ(client.answer(1).field("grpc-status"), "0");
}

TEST(Http2Upstream, ConcurrentRequestsShareOneConnection) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    // All at once, answered in the opposite order.
    peer.read_until([&] { return !peer.so_far(39).heads.empty(); });
    for (std::uint32_t stream = 39; stream > 0 && stream < 40; stream -= 2)
      peer.respond(stream, {{":status", "200"}}, value_of(peer.so_far(stream).heads[0], ":path"));
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  for (std::uint32_t stream = 1; stream < 40; stream += 2)
    client.send_headers(stream, h2::get(kAlpha, "/" + std::to_string(stream)));
  for (std::uint32_t stream = 1; stream < 40; stream += 2)
    EXPECT_EQ(client.answer(stream).body, "/" + std::to_string(stream));
  EXPECT_EQ(upstream.accepted(), 1);
}

TEST(Http2Upstream, WhatIsRefusedIsAskedAgainOnceAlsoIfItIsAPost) {
  std::atomic<int> taken{0};
  ScriptedUpstream upstream([&taken](PeerConnection& connection, int number) {
    Http2Peer peer(connection);
    peer.request(1);
    if (number == 0) {
      peer.send_frame(h2::kRstStream, 0, 1, h2::number32(h2::kRefusedStream));
    } else {
      ++taken;
      peer.respond(1, {{":status", "200"}}, "ok");
    }
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  EXPECT_EQ(status_of(fetch(edge.plain_port(), kPost)), 200);
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(edge.retries(), 1U);
}

TEST(Http2Upstream, AGoawayThatLeavesARequestOutSendsItElsewhere) {
  ScriptedUpstream upstream([](PeerConnection& connection, int number) {
    Http2Peer peer(connection);
    peer.request(1);
    if (number == 0) {
      peer.send_frame(h2::kGoaway, 0, 0, h2::number32(0) + h2::number32(h2::kNoError));
    } else {
      peer.respond(1, {{":status", "200"}}, "second");
    }
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  EXPECT_TRUE(fetch(edge.plain_port(), kPost).ends_with("\r\n6\r\nsecond\r\n0\r\n\r\n"));
}

TEST(Http2Upstream, AGoawayLetsWhatIsUnderWayFinishAndTakesNothingNew) {
  ScriptedUpstream upstream([](PeerConnection& connection, int number) {
    Http2Peer peer(connection);
    peer.request(1);
    if (number == 0) peer.send_frame(h2::kGoaway, 0, 0, h2::number32(1) + h2::number32(h2::kNoError));
    peer.respond(1, {{":status", "200"}}, std::to_string(number));
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  EXPECT_EQ(client.answer(1).body, "0");
  client.send_headers(3, h2::get(kAlpha));
  EXPECT_EQ(client.answer(3).body, "1");
}

TEST(Http2Upstream, APostIsNotSentTwiceWhenItsConnectionDies) {
  std::atomic<int> taken{0};
  ScriptedUpstream upstream([&taken](PeerConnection& connection, int number) {
    Http2Peer peer(connection);
    if (number == 0) {
      peer.request(1);
      peer.respond(1, {{":status", "200"}}, "first");
      peer.request(3);
    } else {
      peer.request(1);
    }
    ++taken;
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  client.answer(1);
  client.send_headers(3, h2::post(kAlpha));
  EXPECT_EQ(client.answer(3).status(), 502);
  EXPECT_EQ(client.so_far(3).field("hedge-error"), "upstream_closed");
  EXPECT_EQ(upstream.accepted(), 1);
}

TEST(Http2Upstream, AGetIsSentAgainWhenItsReusedConnectionDies) {
  ScriptedUpstream upstream([](PeerConnection& connection, int number) {
    Http2Peer peer(connection);
    peer.request(1);
    peer.respond(1, {{":status", "200"}}, std::to_string(number));
    if (number == 0) peer.request(3);
    if (number > 0) peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  EXPECT_EQ(client.answer(1).body, "0");
  client.send_headers(3, h2::get(kAlpha));
  EXPECT_EQ(client.answer(3).body, "1");
}

TEST(Http2Upstream, AResetWithinTheBodyIsSeenAsAFailureByBothKindsOfClients) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    for (std::uint32_t stream = 1; !peer.request(stream).empty(); stream += 2) {
      peer.send_headers(stream, {{":status", "200"}}, h2::kNone);
      peer.send_frame(h2::kData, 0, stream, "half");
      peer.ping();
      peer.send_frame(h2::kRstStream, 0, stream, h2::number32(h2::kInternalError));
    }
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  EXPECT_EQ(client.answer(1).reset, h2::kInternalError);
  const std::string http1 = get(edge.plain_port(), kAlpha);
  EXPECT_EQ(status_of(http1), 200);
  EXPECT_FALSE(http1.ends_with("0\r\n\r\n")) << "the missing last chunk shows it";
}

TEST(Http2Upstream, AClientThatIsGoneResetsTheUpstreamsStreamOnly) {
  EventCount reset;
  ScriptedUpstream upstream([&reset](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    peer.request(1);
    if (peer.answer(1).ended && peer.read_until([&peer] { return peer.so_far(1).reset == h2::kCancel; }))
      reset.add();
    peer.request(3);
    peer.respond(3, {{":status", "200"}}, "next");
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  ASSERT_TRUE(upstream.wait_until([](const std::string& got, int) { return got.size() > 100; }));
  client.send_frame(h2::kRstStream, 0, 1, h2::number32(h2::kCancel));
  EXPECT_TRUE(reset.wait_for(1));
  client.send_headers(3, h2::get(kAlpha));
  EXPECT_EQ(client.answer(3).body, "next");
  EXPECT_EQ(upstream.accepted(), 1);
}

TEST(Http2Upstream, InterimResponsesPass) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    peer.request(1);
    peer.send(
        h2::frame(h2::kHeaders, h2::kEndHeaders, 1,
                  h2::header_block({{":status", "103"}, {"link", "</a>"}})) +
        h2::frame(h2::kHeaders, h2::kEndHeaders | h2::kEndStream, 1, h2::header_block({{":status", "204"}})));
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(upstream)});
  const std::string response = get(edge.plain_port(), kAlpha);
  EXPECT_TRUE(response.starts_with("HTTP/1.1 103 \r\nlink: </a>\r\n\r\nHTTP/1.1 204 \r\n")) << response;
}

TEST(Http2Upstream, AnUpstreamThatSpeaksHttp1IsABadGateway) {
  ScriptedUpstream upstream(answer_always("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
  EdgeFixture edge({h2c_route(upstream)});
  EXPECT_EQ(status_of(get(edge.plain_port(), kAlpha)), 502);
}

TEST(Http2Upstream, AWebSocketToItIsRefusedWithAReason) {
  ScriptedUpstream upstream(answer_all({{":status", "200"}}, "ok"));
  EdgeFixture edge({h2c_route(upstream)});
  const std::string response = fetch(edge.plain_port(),
                                     "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nConnection: Upgrade\r\n"
                                     "Upgrade: websocket\r\n");
  EXPECT_EQ(status_of(response), 502);
  EXPECT_EQ(field_of(response, "Hedge-Error"), "upstream_unsupported");
}

TEST(Http2Upstream, NothingListensOnItsPort) {
  std::uint16_t port = 0;
  {
    ScriptedUpstream gone(answer_always(""));
    port = gone.port();
  }
  router::Route route = route_to(kAlpha, "tcp:127.0.0.1:" + std::to_string(port));
  route.protocol = router::Protocol::h2c;
  EdgeFixture edge({route});
  const std::string response = get(edge.plain_port(), kAlpha);
  EXPECT_EQ(status_of(response), 502);
  EXPECT_EQ(field_of(response, "Hedge-Error"), "upstream_refused");
}

TEST(Http2Upstream, AnIdleConnectionIsGivenUpAfterItsTime) {
  EventCount ended;
  ScriptedUpstream upstream([&ended](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    peer.request(1);
    peer.respond(1, {{":status", "200"}}, "ok");
    if (peer.wait_for_end()) ended.add();
  });
  EdgeOptions options;
  options.settings.limits.upstream_idle = std::chrono::milliseconds(100);
  options.settings.limits.sweep = std::chrono::milliseconds(20);
  EdgeFixture edge({h2c_route(upstream)}, std::move(options));
  EXPECT_EQ(status_of(get(edge.plain_port(), kAlpha)), 200);
  EXPECT_TRUE(ended.wait_for(1));
  EXPECT_EQ(status_of(get(edge.plain_port(), kAlpha)), 200);
  EXPECT_EQ(upstream.accepted(), 2);
}

TEST(Http2Upstream, AStalledResponseStopsNoOtherOnItsConnection) {
  const std::string half_a_megabyte(512U << 10, 'h');
  ScriptedUpstream upstream([&half_a_megabyte](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    peer.request(1);
    peer.send_headers(1, {{":status", "200"}}, h2::kNone);
    // As much as the edge's window for the stream takes.
    peer.send_body(1, std::string_view(half_a_megabyte).substr(0, 65'535), false);
    for (std::uint32_t stream = 3; !peer.request(stream).empty(); stream += 2) {
      peer.send_headers(stream, {{":status", "200"}}, h2::kNone);
      peer.send_body(stream, half_a_megabyte);
    }
  });
  EdgeFixture edge({h2c_route(upstream)});
  Http2Peer client(edge.plain_port());
  client.start(h2::setting(h2::kInitialWindowSize, 0));
  client.send_headers(1, h2::get(kAlpha));
  EXPECT_EQ(client.head(1).status(), 200);
  Http2Peer other(edge.plain_port());
  other.start();
  for (std::uint32_t stream = 1; stream < 20; stream += 2) {
    other.send_headers(stream, h2::get(kAlpha));
    ASSERT_EQ(other.answer(stream).body.size(), half_a_megabyte.size()) << stream;
  }
  EXPECT_EQ(upstream.accepted(), 1);
}

}  // namespace
}  // namespace hedge::test
