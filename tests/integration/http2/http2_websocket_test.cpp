// WebSockets that browsers open inside an HTTP/2 connection (RFC 8441), bridged to HTTP/1 upstreams.
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "proxy/http2/websocket_key.h"
#include "tests/support/edge_fixture.h"
#include "tests/support/event_count.h"
#include "tests/support/http2_peer.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";

h2::Fields connect(const std::string& protocol = "websocket") {
  return {{":method", "CONNECT"},
          {":protocol", protocol},
          {":scheme", "http"},
          {":authority", kAlpha},
          {":path", "/hmr?token=1"},
          {"sec-websocket-version", "13"},
          {"sec-websocket-protocol", "vite-hmr"},
          {"origin", "http://alpha.dev.localhost"}};
}

std::string switch_for(const std::string& request_head) {
  return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
         "Upgrade\r\nSec-WebSocket-Accept: " +
         proxy::http::websocket_accept(field_of(request_head, "Sec-WebSocket-Key")) +
         "\r\nSec-WebSocket-Protocol: vite-hmr\r\n\r\n";
}

// Greets in the same bytes as the switch, then echoes everything.
ScriptedUpstream::Script greet_and_echo() {
  return [](PeerConnection& connection, int /*number*/) {
    const std::string head = connection.read_head();
    connection.send(switch_for(head) + "greeting");
    for (;;) {
      const std::string byte = connection.read_bytes(1);
      if (byte.empty() || !connection.send(byte)) return;
    }
  };
}

TEST(Http2WebSocket, E24_IsAnnounced) {
  EdgeFixture edge({});
  Http2Peer client(edge.plain_port());
  client.start();
  ASSERT_TRUE(client.ping());
  EXPECT_EQ(client.settings().at(h2::kEnableConnectProtocol), 1U);
}

TEST(Http2WebSocket, E24_ABridgeToAnHttp1UpgradeCarriesBytesBothWays) {
  ScriptedUpstream upstream(greet_and_echo());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, connect(), h2::kNone);
  EXPECT_EQ(client.head(1).status(), 200);
  EXPECT_EQ(client.so_far(1).field("sec-websocket-protocol"), "vite-hmr");
  for (const char* name : {"sec-websocket-accept", "upgrade", "connection"})
    EXPECT_EQ(client.so_far(1).field(name), "") << name;
  std::string expected = "greeting";
  for (int i = 0; i < 100; ++i) {
    client.send_body(1, "message", false);
    expected += "message";
    ASSERT_TRUE(client.read_until([&] { return client.so_far(1).body == expected; })) << i;
  }
  const std::string seen = upstream.received();
  EXPECT_TRUE(seen.starts_with("GET /hmr?token=1 HTTP/1.1\r\nHost: alpha.dev.localhost\r\n")) << seen;
  EXPECT_EQ(field_of(seen, "Upgrade"), "websocket");
  EXPECT_EQ(field_of(seen, "Connection"), "Upgrade");
  EXPECT_EQ(field_of(seen, "Sec-WebSocket-Version"), "13");
  EXPECT_EQ(field_of(seen, "Sec-WebSocket-Key").size(), 24U);
  EXPECT_EQ(edge.open_tunnels(), 1U);
}

TEST(Http2WebSocket, E21_WhatTheClientSendsWithTheHandshakeIsNotLost) {
  ScriptedUpstream upstream(greet_and_echo());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send(h2::frame(h2::kHeaders, h2::kEndHeaders, 1, h2::header_block(connect())) +
              h2::frame(h2::kData, 0, 1, "early"));
  EXPECT_TRUE(client.read_until([&client] { return client.so_far(1).body == "greetingearly"; }));
}

TEST(Http2WebSocket, E24_AnEndIsPassedOnAndTheOtherDirectionFlowsOn) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    const std::string head = connection.read_head();
    connection.send(switch_for(head));
    connection.read_all();
    connection.send("after the end");
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, connect(), h2::kNone);
  client.send_body(1, "bye", true);
  const Http2Answer& answer = client.answer(1);
  EXPECT_EQ(answer.body, "after the end");
  EXPECT_TRUE(answer.ended);
  EXPECT_FALSE(answer.reset.has_value());
}

TEST(Http2WebSocket, E24_AMegabyteEachWayKeepsToTheWindows) {
  const std::string megabyte(1U << 20, 'w');
  ScriptedUpstream upstream([&megabyte](PeerConnection& connection, int /*number*/) {
    const std::string head = connection.read_head();
    connection.send(switch_for(head));
    connection.send(connection.read_bytes(megabyte.size()));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, connect(), h2::kNone);
  ASSERT_TRUE(client.send_body(1, megabyte, false));
  EXPECT_TRUE(client.read_until([&] { return client.so_far(1).body.size() == megabyte.size(); }));
  EXPECT_TRUE(client.so_far(1).body == megabyte);
}

TEST(Http2WebSocket, E24_AWrongAcceptIsABadGateway) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(switch_for("x\r\nSec-WebSocket-Key: another\r\n\r\n"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, connect(), h2::kNone);
  EXPECT_EQ(client.answer(1).status(), 502);
  EXPECT_EQ(client.so_far(1).field("hedge-error"), "upstream_bad_response");
}

TEST(Http2WebSocket, E24_AnotherProtocolIsRefused) {
  ScriptedUpstream upstream(greet_and_echo());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, connect("connect-udp"), h2::kNone);
  EXPECT_EQ(client.answer(1).status(), 400);
  EXPECT_EQ(upstream.accepted(), 0);
}

TEST(Http2WebSocket, ARefusedUpgradeIsAnOrdinaryResponse) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, connect(), h2::kNone);
  EXPECT_EQ(client.answer(1).status(), 403);
  EXPECT_EQ(client.so_far(1).body, "no");
}

TEST(Http2WebSocket, E24_AResetClosesTheUpstreamsSocket) {
  EventCount ended;
  ScriptedUpstream upstream([&ended](PeerConnection& connection, int /*number*/) {
    const std::string head = connection.read_head();
    connection.send(switch_for(head));
    if (connection.wait_for_end()) ended.add();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, connect(), h2::kNone);
  EXPECT_EQ(client.head(1).status(), 200);
  client.send_frame(h2::kRstStream, 0, 1, h2::number32(h2::kCancel));
  EXPECT_TRUE(ended.wait_for(1));
}

TEST(Http2WebSocket, AnUpstreamThatBreaksOffResetsTheStream) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    const std::string head = connection.read_head();
    connection.send(switch_for(head));
    connection.read_bytes(1);
    connection.rst();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, connect(), h2::kNone);
  EXPECT_EQ(client.head(1).status(), 200);
  client.send_body(1, "x", false);
  EXPECT_EQ(client.answer(1).reset, h2::kCancel);
  EXPECT_TRUE(client.ping());
}

TEST(Http2WebSocket, ThousandCyclesLeaveNothingOpen) {
  ScriptedUpstream upstream(greet_and_echo());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t stream = 2 * i + 1;
    client.send_headers(stream, connect(), h2::kNone);
    ASSERT_EQ(client.head(stream).status(), 200) << i;
    client.send_body(stream, "", true);
    ASSERT_TRUE(client.answer(stream).ended) << i;
  }
  ASSERT_TRUE(client.ping());
  EXPECT_EQ(edge.open_tunnels(), 0U);
}

}  // namespace
}  // namespace hedge::test
