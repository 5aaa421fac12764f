// Loops, error answers and odd connections: nothing that a client or an upstream does ends the edge or harms
// another route.
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/busy_worker.h"
#include "tests/support/edge_fixture.h"
#include "tests/support/name_server.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/tls_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";
constexpr const char* kBeta = "beta.dev.localhost";

// A development server that proxies every request back to the edge and keeps its fields, or puts another
// Host.
ScriptedUpstream::Script send_back(const std::uint16_t& edge_port, const std::string& host = {}) {
  return [&edge_port, host](PeerConnection& connection, int /*number*/) {
    std::string head = connection.read_head();
    if (!host.empty()) head = replace_all(head, "Host: alpha.dev.localhost\r\n", "Host: " + host + "\r\n");
    PeerConnection onward = PeerConnection::to(edge_port);
    onward.send(head);
    const std::string answer = onward.read_head();
    connection.send(answer);
    const std::string length = field_of(answer, "Content-Length");
    if (!length.empty()) connection.send(onward.read_bytes(std::stoul(length)));
  };
}

TEST(Loops, E30_AnAppThatProxiesBackIsStoppedAndToldHow) {
  std::uint16_t edge_port = 0;
  ScriptedUpstream upstream(send_back(edge_port));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  edge_port = edge.plain_port();
  for (const std::string extra : {"", "Upgrade: websocket\r\nConnection: Upgrade\r\n"}) {
    PeerConnection client = PeerConnection::to(edge_port);
    client.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n" + extra + "\r\n");
    const std::string head = client.read_head();
    EXPECT_EQ(status_of(head), 508);
    const std::string body = client.read_bytes(std::stoul(field_of(head, "Content-Length")));
    EXPECT_NE(body.find("loop_detected"), std::string::npos) << body;
    EXPECT_NE(body.find("alpha.dev.localhost"), std::string::npos) << body;
    EXPECT_NE(body.find(upstream.route()), std::string::npos) << body;
    EXPECT_NE(body.find("Host"), std::string::npos) << body;
  }
  EXPECT_LE(upstream.accepted(), 20);
}

TEST(Loops, E30_AChainToAnotherWorktreeIsLegal) {
  std::uint16_t edge_port = 0;
  ScriptedUpstream alpha(send_back(edge_port, kBeta));
  ScriptedUpstream beta(answer_always(ok_response("beta")));
  EdgeFixture edge({route_to(kAlpha, alpha.route()), route_to(kBeta, beta.route())});
  edge_port = edge.plain_port();
  EXPECT_EQ(body_of(get(edge_port, kAlpha)), "beta");
}

TEST(ErrorAnswers, APageForBrowsersAndJsonForEverybodyElse) {
  EdgeFixture edge({route_to(kAlpha, "tcp:127.0.0.1:1")});
  const std::string json = get(edge.plain_port(), "nobody.dev.localhost");
  EXPECT_EQ(field_of(json, "Content-Type"), "application/problem+json");
  EXPECT_EQ(field_of(json, "Cache-Control"), "no-store");
  EXPECT_EQ(field_of(json, "Hedge-Error"), "route_unknown");
  EXPECT_NE(json.find("\"alpha.dev.localhost\""), std::string::npos)
      << "a loopback peer is told the known hosts";
  const std::string page =
      fetch(edge.plain_port(), "GET / HTTP/1.1\r\nHost: <b>.dev.localhost\r\nAccept: text/html\r\n");
  EXPECT_EQ(status_of(page), 400);
  EXPECT_EQ(field_of(page, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.find("<b>."), std::string::npos);
}

TEST(ErrorAnswers, AForeignNameIsToldNoHosts) {
  EdgeFixture edge({route_to(kAlpha, "tcp:127.0.0.1:1")});
  const std::string rebound = get(edge.plain_port(), "attacker.example.com");
  EXPECT_EQ(status_of(rebound), 404);
  EXPECT_EQ(rebound.find("alpha"), std::string::npos) << rebound;
}

TEST(ErrorAnswers, NothingThatListensIsRefusedWithTheUpstreamNamed) {
  std::uint16_t free_port = 0;
  { free_port = ScriptedUpstream(answer_always("")).port(); }
  EdgeFixture edge({route_to(kAlpha, "tcp:127.0.0.1:" + std::to_string(free_port))});
  const std::string answer = get(edge.plain_port(), kAlpha);
  EXPECT_EQ(status_of(answer), 502);
  EXPECT_EQ(field_of(answer, "Hedge-Error"), "upstream_refused");
  EXPECT_NE(answer.find("tcp:127.0.0.1:" + std::to_string(free_port)), std::string::npos) << answer;
  EXPECT_NE(answer.find("\"worktree\": \"alpha\""), std::string::npos) << answer;
}

TEST(ErrorAnswers, AStartingStackSaysWhenToLookAgain) {
  router::Route route = route_to(kAlpha, "tcp:127.0.0.1:1");
  route.state = router::RouteState::starting;
  EdgeFixture edge({route});
  const std::string page = fetch(
      edge.plain_port(), "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nAccept: text/html,*/*;q=0.1\r\n");
  EXPECT_EQ(status_of(page), 503);
  EXPECT_EQ(field_of(page, "Retry-After"), "2");
  EXPECT_EQ(field_of(page, "Hedge-Error"), "stack_starting");
  EXPECT_NE(page.find("http-equiv=\"refresh\""), std::string::npos);
}

TEST(ErrorAnswers, AConnectionSurvivesAnErrorAnswerToAWholeRequest) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("POST / HTTP/1.1\r\nHost: nobody.dev.localhost\r\nContent-Length: 5\r\n\r\nhello");
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 404);
  client.read_bytes(std::stoul(field_of(head, "Content-Length")));
  client.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n");
  EXPECT_EQ(client.read_until("ok"), ok_response("ok"));
}

EdgeOptions with_tls() {
  EdgeOptions options;
  options.tls = true;
  return options;
}

TEST(TlsPort, E32_HttpsIsWhatTheUpstreamIsTold) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())}, with_tls());
  TlsPeer client(edge.tls_port(), kAlpha, edge.root_certificate());
  const std::string host = "alpha.dev.localhost:" + std::to_string(edge.tls_port());
  client.send("GET / HTTP/1.1\r\nHost: " + host +
              "\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: evil\r\n"
              "Forwarded: host=evil\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(body_of(client.read_all()), "ok");
  EXPECT_EQ(field_of(upstream.received(), "X-Forwarded-Proto"), "https");
  EXPECT_EQ(field_of(upstream.received(), "X-Forwarded-Host"), host);
  EXPECT_EQ(field_of(upstream.received(), "X-Forwarded-Port"), std::to_string(edge.tls_port()));
  EXPECT_EQ(upstream.received().find("evil"), std::string::npos);
}

TEST(TlsPort, PlainRequestsAreSentToHttpsAndUpgradesAreServed) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhi");
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())}, with_tls());
  const std::string answer = get(edge.tls_port(), kAlpha, "//x?y=1");
  EXPECT_EQ(status_of(answer), 307);
  EXPECT_EQ(field_of(answer, "Location"),
            "https://alpha.dev.localhost:" + std::to_string(edge.tls_port()) + "//x?y=1");
  // Published under another port than the one that is listened on: the client's own port leads back here.
  for (const std::string port : {":443", ":9443", ":80"}) {
    const std::string published = get(edge.tls_port(), kAlpha + port, "/x");
    EXPECT_EQ(field_of(published, "Location"),
              "https://alpha.dev.localhost" + (port == ":443" ? "" : port) + "/x");
  }
  PeerConnection client = PeerConnection::to(edge.tls_port());
  client.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 101);
  EXPECT_EQ(client.read_bytes(2), "hi");
}

TEST(Drains, AClientInTheQueueGetsItsAnswerAndIsToldThatItIsTheLast) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  std::vector<PeerConnection> clients;
  {
    const BusyWorker busy(*edge.server().workers().front());
    for (int i = 0; i < 10; ++i) {
      clients.push_back(PeerConnection::to(edge.plain_port()));
      clients.back().send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n");
    }
    edge.server().begin_drain();
  }
  for (PeerConnection& client : clients) {
    const std::string answer = client.read_all();
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_EQ(field_of(answer, "Connection"), "close");
    EXPECT_EQ(body_of(answer), "ok");
  }
}

TEST(OddConnections, E25_NoneOfThemHarmsAnother) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kBeta, upstream.route())}, with_tls());
  std::mt19937 random(7);
  const auto beta_works = [&] { return body_of(get(edge.plain_port(), kBeta)) == "ok"; };
  for (const std::uint16_t port : {edge.plain_port(), edge.tls_port()}) {
    for (int i = 0; i < 20; ++i) {
      PeerConnection noise = PeerConnection::to(port);
      std::string bytes(1U << 18, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      noise.send(bytes);
      ASSERT_TRUE(beta_works());
    }
    PeerConnection preface = PeerConnection::to(port);
    // Begins as HTTP/2 does; what follows are no frames.
    preface.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(64, 'x'));
    EXPECT_TRUE(preface.wait_for_end());
    PeerConnection handshake = PeerConnection::to(port);
    handshake.send(std::string("\x16\x03\x01\x00\x05hello", 10));
    EXPECT_TRUE(handshake.wait_for_end());
    ASSERT_TRUE(beta_works());
  }
  std::vector<PeerConnection> half_open;
  for (int i = 0; i < 200; ++i)
    half_open.push_back(PeerConnection::to(i % 2 == 0 ? edge.plain_port() : edge.tls_port()));
  for (std::size_t i = 0; i < half_open.size(); i += 3) half_open[i].send("GET / HT");
  EXPECT_TRUE(beta_works());
  half_open.clear();
  EXPECT_TRUE(beta_works());
  TlsPeer upgrade(edge.tls_port(), kBeta, edge.root_certificate(), "http/1.1");
  upgrade.send(
      "GET / HTTP/1.1\r\nHost: beta.dev.localhost\r\nUpgrade: x\r\nConnection: Upgrade, close\r\n\r\n");
  EXPECT_EQ(status_of(upgrade.read_all()), 200);
  EXPECT_TRUE(beta_works());
}

// E-02, E-03: nothing listens where alpha was; alpha comes back elsewhere, and beta gets its address.
TEST(Addresses, E03_NobodyIsSentToTheOldAddressOnceAConnectHasFailed) {
  ScriptedUpstream alpha(answer_always(ok_response("alpha")), "127.0.0.6");
  NameServer names;
  names.set("alpha.example.test", {{"127.0.0.5"}, {}});
  EdgeOptions options;
  options.settings.name_servers = {{"127.0.0.1", names.port()}};
  options.settings.limits.resolve_ttl = std::chrono::seconds(60);
  const std::string port = ":" + std::to_string(alpha.port());
  EdgeFixture edge(
      {route_to(kAlpha, "dns:alpha.example.test" + port), route_to(kBeta, "dns:beta.example.test" + port)},
      std::move(options));
  ASSERT_EQ(field_of(get(edge.plain_port(), kAlpha), "Hedge-Error"), "upstream_refused");
  names.set("alpha.example.test", {{"127.0.0.6"}, {}});
  names.set("beta.example.test", {{"127.0.0.5"}, {}});
  ScriptedUpstream beta(answer_always(ok_response("beta")), "127.0.0.5", alpha.port());
  EXPECT_EQ(body_of(get(edge.plain_port(), kBeta)), "beta");
  EXPECT_EQ(body_of(get(edge.plain_port(), kAlpha)), "alpha");
}

}  // namespace
}  // namespace hedge::test
