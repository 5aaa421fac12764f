// Upstreams that speak TLS: routes with the protocol https. The upstream is a second edge.
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/event_count.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";

EdgeOptions with_tls() {
  EdgeOptions options;
  options.tls = true;
  return options;
}

// An application, an edge in front of it that speaks TLS, and a third that asks it.
struct TlsWorld {
  TlsWorld(const std::string& asked_host, bool verify, bool trust)
      : application(answer_always(ok_response("over TLS"))),
        secure({route_to(kAlpha, application.route())}, with_tls()),
        edge({route(asked_host)}, options(verify, trust)) {}

  router::Route route(const std::string& host) const {
    router::Route made = route_to(host, "tcp:127.0.0.1:" + std::to_string(secure.tls_port()));
    made.protocol = router::Protocol::https;
    return made;
  }
  EdgeOptions options(bool verify, bool trust) const {
    EdgeOptions made;
    made.settings.upstream_verify = verify;
    if (trust) made.settings.upstream_ca = secure.root_certificate().string();
    return made;
  }

  ScriptedUpstream application;
  EdgeFixture secure;
  EdgeFixture edge;
};

TEST(HttpsUpstream, AVerifiedOneIsAskedOverOneConnection) {
  TlsWorld world(kAlpha, true, true);
  for (int i = 0; i < 3; ++i) {
    const std::string response = get(world.edge.plain_port(), kAlpha);
    EXPECT_EQ(status_of(response), 200) << response;
    EXPECT_EQ(body_of(response), "over TLS");
  }
  EXPECT_EQ(field_of(world.application.received(), "X-Forwarded-Proto"), "https");
  EXPECT_EQ(world.secure.server().workers().front()->stats().connections_total.value(), 1U);
}

TEST(HttpsUpstream, ACertificateOfAnUnknownRootIsRefusedWithTheSettingToChange) {
  TlsWorld world(kAlpha, true, false);
  const std::string response = get(world.edge.plain_port(), kAlpha);
  EXPECT_EQ(status_of(response), 502);
  EXPECT_EQ(field_of(response, "Hedge-Error"), "upstream_tls_failed");
  EXPECT_NE(response.find("upstream_ca"), std::string::npos) << response;
  EXPECT_EQ(world.application.received(), "") << "no request leaves before the certificate is accepted";
}

// Workers make their contexts when they first need one.
TEST(HttpsUpstream, WhetherItIsVerifiedIsDecidedWhenTheEdgeStarts) {
  TlsWorld world(kAlpha, true, false);
  world.edge.server().change_settings(world.options(false, false).settings);
  EXPECT_EQ(field_of(get(world.edge.plain_port(), kAlpha), "Hedge-Error"), "upstream_tls_failed");
}

// The others of its pool move up.
TEST(HttpsUpstream, OneOfSeveralIdleConnectionsExpires) {
  EventCount arrived;
  ScriptedUpstream application([&arrived](PeerConnection& connection, int /*number*/) {
    while (!connection.read_head().empty()) {
      arrived.add();
      arrived.wait_for(2);
      if (!connection.send(ok_response("ok"))) return;
    }
  });
  EdgeFixture secure({route_to(kAlpha, application.route())}, with_tls());
  router::Route route = route_to(kAlpha, "tcp:127.0.0.1:" + std::to_string(secure.tls_port()));
  route.protocol = router::Protocol::https;
  EdgeOptions options;
  options.settings.upstream_ca = secure.root_certificate().string();
  options.settings.limits.upstream_idle = std::chrono::milliseconds(500);
  options.settings.limits.sweep = std::chrono::milliseconds(20);
  EdgeFixture edge({route}, std::move(options));
  // Two at once, so that there are two connections; from then on the newer one is used, and kept from idling.
  const auto ask = [&edge] { EXPECT_EQ(body_of(get(edge.plain_port(), kAlpha)), "ok"); };
  std::thread beside(ask);
  ask();
  beside.join();
  const auto& stats = secure.server().workers().front()->stats();
  ASSERT_EQ(stats.connections_total.value(), 2U);
  const auto until = std::chrono::steady_clock::now() + kPeerLimit;
  while (stats.connections_open.value() == 2 && std::chrono::steady_clock::now() < until) ask();
  EXPECT_EQ(stats.connections_open.value(), 1U);
  ask();
  EXPECT_EQ(stats.connections_total.value(), 2U) << "the other one is still of use";
}

TEST(HttpsUpstream, WithoutVerificationAnyCertificateWillDo) {
  TlsWorld world(kAlpha, false, false);
  EXPECT_EQ(body_of(get(world.edge.plain_port(), kAlpha)), "over TLS");
}

// A worker that has asked no upstream yet must not differ from one that has.
TEST(HttpsUpstream, VerificationIsAsAtTheStartWhateverSettingsChangeLater) {
  TlsWorld world(kAlpha, true, false);
  proxy::EdgeSettings wanted;
  wanted.upstream_verify = false;
  world.edge.server().change_settings(wanted);
  EXPECT_EQ(field_of(get(world.edge.plain_port(), kAlpha), "Hedge-Error"), "upstream_tls_failed");
}

TEST(HttpsUpstream, ALargeBodyPassesBothWays) {
  std::string body(2U << 20, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 19);
  ScriptedUpstream application([&body](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(ok_response(connection.read_bytes(body.size())));
    connection.read_all();
  });
  EdgeFixture secure({route_to(kAlpha, application.route())}, with_tls());
  router::Route route = route_to(kAlpha, "tcp:127.0.0.1:" + std::to_string(secure.tls_port()));
  route.protocol = router::Protocol::https;
  EdgeOptions options;
  options.settings.upstream_ca = secure.root_certificate().string();
  EdgeFixture edge({route}, std::move(options));
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n");
  client.send(body);
  EXPECT_TRUE(body_of(client.read_all()) == body);
}

TEST(HttpsUpstream, ConnectionsVerifiedForOneNameAreNotUsedForAnother) {
  ScriptedUpstream application(answer_always(ok_response("over TLS")));
  EdgeFixture secure(
      {route_to(kAlpha, application.route()), route_to("beta.dev.localhost", application.route())},
      with_tls());
  router::Route alpha = route_to(kAlpha, "tcp:127.0.0.1:" + std::to_string(secure.tls_port()));
  alpha.protocol = router::Protocol::https;
  router::Route beta = alpha;
  beta.host = "beta.dev.localhost";
  EdgeOptions options;
  options.settings.upstream_ca = secure.root_certificate().string();
  EdgeFixture edge({alpha, beta}, std::move(options));
  EXPECT_EQ(status_of(get(edge.plain_port(), kAlpha)), 200);
  EXPECT_EQ(status_of(get(edge.plain_port(), "beta.dev.localhost")), 200);
  EXPECT_EQ(secure.server().workers().front()->stats().connections_total.value(), 2U);
}

TEST(HttpsUpstream, AnUpstreamThatDoesNotSpeakTlsIsABadGateway) {
  ScriptedUpstream plain([](PeerConnection& connection, int /*number*/) {
    connection.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    connection.read_all();
  });
  router::Route route = route_to(kAlpha, plain.route());
  route.protocol = router::Protocol::https;
  EdgeFixture edge({route});
  EXPECT_EQ(field_of(get(edge.plain_port(), kAlpha), "Hedge-Error"), "upstream_tls_failed");
}

TEST(HttpsUpstream, AHandshakeThatNobodyAnswersEndsInTime) {
  ScriptedUpstream silent([](PeerConnection& connection, int /*number*/) { connection.wait_for_end(); });
  router::Route route = route_to(kAlpha, silent.route());
  route.protocol = router::Protocol::https;
  EdgeOptions options;
  options.settings.limits.handshake = std::chrono::milliseconds(100);
  options.settings.limits.sweep = std::chrono::milliseconds(20);
  EdgeFixture edge({route}, std::move(options));
  EXPECT_EQ(field_of(get(edge.plain_port(), kAlpha), "Hedge-Error"), "upstream_tls_failed");
}

TEST(HttpsUpstream, AWebSocketIsTunnelledThroughTls) {
  ScriptedUpstream application([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst");
    connection.send(connection.read_bytes(4));
    connection.read_all();
  });
  EdgeFixture secure({route_to(kAlpha, application.route())}, with_tls());
  router::Route route = route_to(kAlpha, "tcp:127.0.0.1:" + std::to_string(secure.tls_port()));
  route.protocol = router::Protocol::https;
  EdgeOptions options;
  options.settings.upstream_ca = secure.root_certificate().string();
  EdgeFixture edge({route}, std::move(options));
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(
      "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nping");
  EXPECT_EQ(status_of(client.read_head()), 101);
  EXPECT_EQ(client.read_bytes(9), "firstping");
}

}  // namespace
}  // namespace hedge::test
