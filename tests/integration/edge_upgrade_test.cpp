// Upgrades: what happens between the two heads, and what the tunnel carries.
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/tls_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";
const std::string kAsk =
    "GET /ws HTTP/1.1\r\nHost: alpha.dev.localhost\r\nConnection: keep-alive, upGrade\r\nUpgrade: "
    "WebSocket\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const std::string kSwitch =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
const std::string kServerFrame = "\x81\x02hi";
const std::string kClientFrame = "\x81\x82mask\x05\x08";

// Answers the handshake and the server's first frame in one write, then echoes.
ScriptedUpstream::Script greet_and_echo() {
  return [](PeerConnection& connection, int /*number*/) {
    if (connection.read_head().find("pgrade: ") == std::string::npos) {
      do {
        connection.send(ok_response("plain"));
      } while (connection.read_head().ends_with("\r\n\r\n"));
      return;
    }
    connection.send(kSwitch + kServerFrame);
    for (;;) {
      const std::string byte = connection.read_bytes(1);
      if (byte.empty() || !connection.send(byte)) return;
    }
  };
}

TEST(Upgrades, E21_TheFirstBytesOfBothSidesAreNotLost) {
  ScriptedUpstream upstream(greet_and_echo());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  for (int i = 0; i < 50; ++i) {
    PeerConnection client = PeerConnection::to(edge.plain_port());
    client.send(kAsk + kClientFrame);
    const std::string head = client.read_head();
    ASSERT_EQ(status_of(head), 101);
    EXPECT_EQ(field_of(head, "Upgrade"), "websocket");
    EXPECT_EQ(field_of(head, "Connection"), "Upgrade");
    ASSERT_EQ(client.read_bytes(kServerFrame.size() + kClientFrame.size()), kServerFrame + kClientFrame);
  }
  EXPECT_EQ(upstream.count(kClientFrame), 50);
}

TEST(Upgrades, E21_TheSameOverTls) {
  ScriptedUpstream upstream(greet_and_echo());
  EdgeOptions options;
  options.tls = true;
  EdgeFixture edge({route_to(kAlpha, upstream.route())}, std::move(options));
  for (int i = 0; i < 10; ++i) {
    TlsPeer client(edge.tls_port(), kAlpha, edge.root_certificate(), "http/1.1");
    client.send(kAsk + kClientFrame);
    ASSERT_EQ(status_of(client.read_until("\r\n\r\n")), 101);
    ASSERT_EQ(client.read_until(kClientFrame), kServerFrame + kClientFrame);
  }
  EXPECT_EQ(field_of(upstream.received(), "X-Forwarded-Proto"), "https");
}

TEST(Upgrades, E21_CutAtEveryPositionAroundTheEmptyLines) {
  std::atomic<std::size_t> cut{0};
  std::uint16_t edge_port = 0;
  // Another request through the same worker: what was sent before it has been read by the edge.
  const auto let_the_edge_read = [&edge_port] {
    EXPECT_EQ(status_of(get(edge_port, "nobody.dev.localhost")), 404);
  };
  ScriptedUpstream upstream([&](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    const std::string bytes = kSwitch + kServerFrame;
    const std::size_t at = kSwitch.size() - 4 + cut;
    connection.send(bytes.substr(0, at));
    let_the_edge_read();
    connection.send(bytes.substr(at));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  edge_port = edge.plain_port();
  // From before the empty line to within the first frame, on both sides.
  for (cut = 0; cut < 4 + kServerFrame.size(); ++cut) {
    PeerConnection client = PeerConnection::to(edge_port);
    const std::string bytes = kAsk + kClientFrame;
    const std::size_t at = kAsk.size() - 4 + cut;
    client.send(bytes.substr(0, at));
    let_the_edge_read();
    client.send(bytes.substr(at));
    ASSERT_EQ(status_of(client.read_head()), 101);
    ASSERT_EQ(client.read_bytes(kServerFrame.size()), kServerFrame) << cut;
    ASSERT_TRUE(upstream.wait_until([&cut](const std::string& got, int) {
      std::size_t frames = 0;
      for (std::size_t found = got.find(kClientFrame); found != std::string::npos;
           found = got.find(kClientFrame, found + 1))
        ++frames;
      return frames == cut + 1;
    })) << cut;
  }
}

TEST(Upgrades, E23_AnUpgradedConnectionNeverReturnsToThePool) {
  ScriptedUpstream upstream(greet_and_echo());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection http = PeerConnection::to(edge.plain_port());
  const auto one_get = [&http] {
    http.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n");
    return http.read_until("plain");
  };
  ASSERT_EQ(one_get(), ok_response("plain"));
  for (int i = 0; i < 20; ++i) {
    PeerConnection socket = PeerConnection::to(edge.plain_port());
    socket.send(kAsk);
    ASSERT_EQ(status_of(socket.read_head()), 101);
    socket.read_bytes(kServerFrame.size());
    if (i % 2 == 0) socket.send(std::string("\x88\x80mask", 6));
    socket.close();
    for (int k = 0; k < 20; ++k) ASSERT_EQ(one_get(), ok_response("plain")) << i << "/" << k;
  }
  EXPECT_EQ(upstream.accepted(), 21);
}

TEST(Upgrades, ARefusedUpgradeIsAnOrdinaryResponse) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(
        "HTTP/1.1 426 Upgrade Required\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnope\r\n0\r\n\r\n");
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kAsk);
  EXPECT_EQ(client.read_until("0\r\n\r\n"),
            "HTTP/1.1 426 Upgrade Required\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnope\r\n0\r\n\r\n");
  client.send(kAsk);
  EXPECT_EQ(status_of(client.read_head()), 426);
  EXPECT_EQ(upstream.accepted(), 2) << "the connection of a refused upgrade is not pooled either";
}

TEST(Upgrades, E23_NorDoesOneWhoseUpgradeWasRefused) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    if (connection.read_head().find("pgrade: ") == std::string::npos) {
      connection.send(ok_response("plain"));
      return;
    }
    connection.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\n\r\nnope");
    // An upstream that is confused by what it refused.
    connection.read_head();
    connection.send(ok_response("stale"));
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kAsk);
  ASSERT_EQ(status_of(client.read_until("nope")), 400);
  EXPECT_EQ(body_of(get(edge.plain_port(), kAlpha)), "plain");
  EXPECT_EQ(upstream.accepted(), 2);
}

TEST(Upgrades, ALengthOfZeroIsNoBody) {
  ScriptedUpstream upstream(greet_and_echo());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kAsk.substr(0, kAsk.size() - 2) + "Content-Length: 0\r\n\r\n" + kClientFrame);
  ASSERT_EQ(status_of(client.read_head()), 101);
  EXPECT_EQ(client.read_bytes(kServerFrame.size() + kClientFrame.size()), kServerFrame + kClientFrame);
}

TEST(Upgrades, ARequestWithABodyIsAnOrdinaryOne) {
  ScriptedUpstream upstream(answer_always(ok_response("plain")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kAsk.substr(0, kAsk.size() - 2) + "Content-Length: 1\r\n\r\nx");
  EXPECT_EQ(client.read_until("plain"), ok_response("plain"));
  EXPECT_EQ(field_of(upstream.received(), "Upgrade"), "");
}

TEST(Upgrades, AnUnaskedSwitchIsABadGateway) {
  ScriptedUpstream upstream(answer_always(kSwitch));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  EXPECT_EQ(field_of(get(edge.plain_port(), kAlpha), "Hedge-Error"), "upstream_bad_response");
}

TEST(Upgrades, H2cIsNotPassedOn) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(
      "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
      "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n");
  EXPECT_EQ(client.read_until("ok"), ok_response("ok"));
  EXPECT_EQ(field_of(upstream.received(), "Upgrade"), "");
  EXPECT_EQ(field_of(upstream.received(), "HTTP2-Settings"), "");
}

TEST(Tunnels, E41_AFinIsPassedOnAndTheOtherDirectionFlowsOn) {
  const std::string megabyte(1U << 20, 'm');
  ScriptedUpstream upstream([&megabyte](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(kSwitch);
    connection.read_all();
    connection.send(megabyte);
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kAsk);
  ASSERT_EQ(status_of(client.read_head()), 101);
  client.send("last words");
  client.fin();
  EXPECT_TRUE(client.read_all() == megabyte);
  EXPECT_TRUE(upstream.received().ends_with("last words"));
}

TEST(Tunnels, AThousandEndsOfOneSideEndTheOtherAndLeaveNothingOpen) {
  ScriptedUpstream upstream(greet_and_echo());
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  get(edge.plain_port(), "nobody.dev.localhost");
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 1000; ++i) {
    PeerConnection client = PeerConnection::to(edge.plain_port());
    client.send(kAsk);
    ASSERT_EQ(status_of(client.read_head()), 101) << i;
    if (i % 2 == 0) {
      client.rst();
    } else {
      client.fin();
      EXPECT_TRUE(client.wait_for_end());
    }
  }
  // One more exchange on the same worker comes after the ends of all tunnels that have been closed by FIN;
  // those ended by RST are waited for.
  const auto is_something_open = [&] { return edge.open_tunnels() > 0 || open_descriptors() > before; };
  for (int i = 0; i < 1000 && is_something_open(); ++i) get(edge.plain_port(), "nobody.dev.localhost");
  EXPECT_EQ(edge.open_tunnels(), 0U);
  EXPECT_LE(open_descriptors(), before);
}

}  // namespace
}  // namespace hedge::test
