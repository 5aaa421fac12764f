// Ordinary messages through the whole edge: what arrives on the other side, byte for byte.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/edge_fixture.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";
constexpr const char* kBeta = "beta.dev.localhost";
const std::string kGet = "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n";

// Reads a head and a body of known size, answers 200, and goes on.
ScriptedUpstream::Script answer_with_body(std::size_t body_bytes, const std::string& response) {
  return [body_bytes, response](PeerConnection& connection, int /*number*/) {
    while (connection.read_head().ends_with("\r\n\r\n")) {
      connection.read_bytes(body_bytes);
      if (!connection.send(response)) return;
    }
  };
}

TEST(EdgeMessages, E16_HostIsCaseInsensitive) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  EXPECT_EQ(body_of(get(edge.plain_port(), "ALPHA.Dev.LocalHost")), "ok");
  EXPECT_EQ(field_of(upstream.received(), "Host"), "ALPHA.Dev.LocalHost");
}

TEST(EdgeMessages, E17_PortsTrailingDotsAndLiteralsInHost) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  for (const std::string host :
       {"alpha.dev.localhost:8080", "alpha.dev.localhost.", "alpha.dev.localhost.:8080"})
    EXPECT_EQ(status_of(get(edge.plain_port(), host)), 200) << host;
  for (const std::string host : {"[::1]:8080", "[::1]", "127.0.0.1"})
    EXPECT_EQ(status_of(get(edge.plain_port(), host)), 404) << host;
  for (const std::string host : {"alpha.dev.localhost..", "alpha.dev.localhost:99999", "a b", ""})
    EXPECT_EQ(status_of(get(edge.plain_port(), host)), 400) << host;
  EXPECT_EQ(status_of(fetch(edge.plain_port(), "GET / HTTP/1.1\r\n")), 400);
  EXPECT_EQ(status_of(fetch(edge.plain_port(), "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nHost: x\r\n")),
            400);
}

TEST(EdgeMessages, E18_TheAuthorityOfTheTargetWinsOverHost) {
  ScriptedUpstream alpha(answer_always(ok_response("alpha")));
  ScriptedUpstream beta(answer_always(ok_response("beta")));
  EdgeFixture edge({route_to(kAlpha, alpha.route()), route_to(kBeta, beta.route())});
  const std::string answer =
      fetch(edge.plain_port(), "GET http://alpha.dev.localhost/x?y HTTP/1.1\r\nHost: beta.dev.localhost\r\n");
  EXPECT_EQ(body_of(answer), "alpha");
  EXPECT_TRUE(alpha.received().starts_with("GET /x?y HTTP/1.1\r\nHost: alpha.dev.localhost\r\n"))
      << alpha.received();
  EXPECT_EQ(alpha.received().find("beta"), std::string::npos);
  EXPECT_EQ(beta.accepted(), 0);
}

TEST(EdgeMessages, E34_ATargetNeverSelectsAnUpstream) {
  ScriptedUpstream alpha(answer_always(ok_response("alpha")));
  ScriptedUpstream beta(answer_always(ok_response("beta")));
  EdgeFixture edge({route_to(kAlpha, alpha.route()), route_to(kBeta, beta.route())});
  for (const std::string target :
       {"//beta.dev.localhost/secret", "///x", "/\\\\x", "//user@beta.dev.localhost/"}) {
    EXPECT_EQ(body_of(get(edge.plain_port(), kAlpha, target)), "alpha") << target;
    EXPECT_EQ(alpha.count("GET " + target + " HTTP/1.1\r\n"), 1) << target;
    PeerConnection socket = PeerConnection::to(edge.plain_port());
    socket.send("GET " + target +
                " HTTP/1.1\r\nHost: alpha.dev.localhost\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
    EXPECT_EQ(socket.read_until("alpha"), ok_response("alpha")) << target;
    EXPECT_EQ(alpha.count("GET " + target + " HTTP/1.1\r\n"), 2) << target;
  }
  EXPECT_EQ(beta.accepted(), 0);
}

TEST(EdgeMessages, E11_NothingFollowsAResponseWithoutABody) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 204 No Content\r\n\r\n");
    connection.read_head();
    connection.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n");
    connection.read_head();
    connection.send(ok_response("ok"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  EXPECT_EQ(client.read_head(), "HTTP/1.1 204 No Content\r\n\r\n");
  client.send(kGet);
  EXPECT_EQ(client.read_head(), "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n");
  client.send(kGet);
  EXPECT_EQ(client.read_until("ok"), ok_response("ok"));
  EXPECT_EQ(upstream.accepted(), 1);
}

TEST(EdgeMessages, E11_AnAnswerToHeadHasALengthAndNoBody) {
  ScriptedUpstream upstream(answer_always("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n"));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  for (int i = 0; i < 3; ++i) {
    client.send("HEAD / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n");
    EXPECT_EQ(client.read_head(), "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n");
  }
  EXPECT_EQ(upstream.accepted(), 1);
}

TEST(EdgeMessages, E12_TrailersPassBothWaysAnnouncedOrNot) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_until("x-up: 1\r\n\r\n");
    connection.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\ngrpc-status: 0\r\nx-t: "
        "1\r\n\r\n");
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(
      "POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nTE: trailers, deflate\r\nTransfer-Encoding: "
      "chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\nx-up: 1\r\n\r\n");
  EXPECT_EQ(client.read_until("x-t: 1\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\ngrpc-status: 0\r\nx-t: "
            "1\r\n\r\n");
  EXPECT_EQ(field_of(upstream.received(), "TE"), "trailers");
  EXPECT_TRUE(upstream.received().ends_with("3\r\nabc\r\n0\r\nx-up: 1\r\n\r\n")) << upstream.received();
}

TEST(EdgeMessages, E19_LargeCookiesPassAndTooLargeOnesAreNamed) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  for (const std::size_t size : {15U << 10, 60U << 10}) {
    const std::string cookie(size, 'c');
    EXPECT_EQ(status_of(fetch(edge.plain_port(),
                              "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nCookie: " + cookie + "\r\n")),
              200);
    EXPECT_EQ(upstream.count("Cookie: " + cookie + "\r\n"), 1);
  }
  const std::string refused = fetch(
      edge.plain_port(),
      "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nCookie: " + std::string(300U << 10, 'c') + "\r\n");
  EXPECT_EQ(status_of(refused), 431);
  EXPECT_EQ(field_of(refused, "Hedge-Error"), "headers_too_large");
  EXPECT_NE(refused.find("cookie"), std::string::npos) << refused;
}

TEST(EdgeMessages, E19_AFieldInOneByteSegmentsPasses) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  const std::string cookie(40U << 10, 'c');
  ASSERT_TRUE(
      client.send_slowly("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nCookie: " + cookie + "\r\n\r\n"));
  EXPECT_EQ(client.read_until("ok"), ok_response("ok"));
  EXPECT_EQ(upstream.count(cookie), 1);
}

TEST(EdgeMessages, E19_AnUpstreamsOwnRefusalPassesUnchanged) {
  const std::string refusal = "HTTP/1.1 431 Too Large\r\nX-Who: app\r\nContent-Length: 3\r\n\r\napp";
  ScriptedUpstream upstream(answer_always(refusal));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  const std::string answer = get(edge.plain_port(), kAlpha);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 431 Too Large\r\nX-Who: app\r\n")) << answer;
  EXPECT_EQ(field_of(answer, "Hedge-Error"), "");
}

TEST(EdgeMessages, E26_AHeadIsSentOnAtOnceAndEachEventAsItComes) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    // Nothing more until the client has acknowledged what it has.
    connection.read_until("next");
  });
  std::string events;
  ScriptedUpstream stream([&events](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.send("9\r\ndata: 1\n\n\r\n");
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route()), route_to(kBeta, stream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nAccept-Encoding: gzip\r\n\r\n");
  // The upstream is silent after the head: were the head held back, this would reach its limit.
  EXPECT_EQ(client.read_head(),
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  PeerConnection other = PeerConnection::to(edge.plain_port());
  other.send("GET / HTTP/1.1\r\nHost: beta.dev.localhost\r\n\r\n");
  other.read_head();
  EXPECT_EQ(other.read_until("\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
}

TEST(EdgeMessages, E32_ForwardedFieldsAreOverwritten) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  fetch(edge.plain_port(),
        "GET / HTTP/1.1\r\nHost: alpha.dev.localhost:8080\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: "
        "evil\r\n"
        "X-Forwarded-For: evil\r\nX-Forwarded-Port: evil\r\nForwarded: host=evil\r\n");
  const std::string got = upstream.received();
  EXPECT_EQ(field_of(got, "X-Forwarded-Proto"), "http");
  EXPECT_EQ(field_of(got, "X-Forwarded-Host"), "alpha.dev.localhost:8080");
  EXPECT_EQ(field_of(got, "X-Forwarded-Port"), "8080");
  EXPECT_EQ(field_of(got, "X-Forwarded-For"), "127.0.0.1");
  EXPECT_EQ(got.find("evil"), std::string::npos) << got;
}

TEST(EdgeMessages, E32_ATrustedProxysFieldsAreKept) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeOptions options;
  options.trusted_proxies = {"127.0.0.0/8"};
  EdgeFixture edge({route_to(kAlpha, upstream.route())}, std::move(options));
  fetch(edge.plain_port(),
        "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: "
        "10.0.0.9\r\n");
  EXPECT_EQ(field_of(upstream.received(), "X-Forwarded-Proto"), "https");
  EXPECT_EQ(field_of(upstream.received(), "X-Forwarded-For"), "10.0.0.9, 127.0.0.1");
}

TEST(EdgeMessages, E38_TheUpstreamGetsOneHostWithTheClientsValue) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  fetch(edge.plain_port(), "GET / HTTP/1.1\r\nX: 1\r\nhOsT:  alpha.dev.localhost \r\n");
  const std::string got = upstream.received();
  EXPECT_TRUE(got.starts_with("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n")) << got;
  EXPECT_EQ(ascii_lower(got).find("\r\nhost:", 20), std::string::npos) << got;
}

TEST(EdgeMessages, PipelinedRequestsAreAnsweredInTheirOrder) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    for (int i = 1;; ++i) {
      if (!connection.read_head().ends_with("\r\n\r\n")) return;
      connection.send(ok_response(std::to_string(i)));
    }
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet + kGet + kGet);
  client.fin();
  EXPECT_EQ(client.read_all(), ok_response("1") + ok_response("2") + ok_response("3"));
}

TEST(EdgeMessages, BodiesOfAnySizePassBothWays) {
  const std::string large(3U << 20, 'u');
  const std::string down(5U << 20, 'd');
  ScriptedUpstream upstream(answer_with_body(large.size(), ok_response(down)));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  for (int i = 0; i < 2; ++i) {
    client.send("POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nContent-Length: " +
                std::to_string(large.size()) + "\r\n\r\n" + large);
    EXPECT_EQ(client.read_head(),
              "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(down.size()) + "\r\n\r\n");
    EXPECT_TRUE(client.read_bytes(down.size()) == down);
  }
  EXPECT_EQ(upstream.accepted(), 1);
  EXPECT_EQ(upstream.count(large), 2);
}

TEST(EdgeMessages, AnHttp10ClientGetsNoChunksAndTheEndOfTheConnection) {
  ScriptedUpstream upstream(
      answer_always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("GET / HTTP/1.0\r\nHost: alpha.dev.localhost\r\n\r\n");
  EXPECT_EQ(client.read_all(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok");
}

TEST(EdgeMessages, AnHttp10ClientMayKeepItsConnection) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  for (int i = 0; i < 2; ++i) {
    client.send("GET / HTTP/1.0\r\nHost: alpha.dev.localhost\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(client.read_until("ok"),
              "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok");
  }
}

TEST(EdgeMessages, AnHttp10UpstreamIsReadToTheEndOfItsConnection) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.0 200 OK\r\n\r\nhello");
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  EXPECT_EQ(
      get(edge.plain_port(), kAlpha),
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(get(edge.plain_port(), kAlpha)), 200);
  EXPECT_EQ(upstream.accepted(), 2);
}

TEST(EdgeMessages, HstsReachesNoSiblingAndAltSvcNobody) {
  ScriptedUpstream upstream(
      answer_always("HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=9; includeSubDomains; preload\r\n"
                    "Alt-Svc: h3=\":443\"\r\nContent-Length: 0\r\n\r\n"));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  const std::string answer = get(edge.plain_port(), kAlpha);
  EXPECT_EQ(field_of(answer, "Strict-Transport-Security"), "max-age=9");
  EXPECT_EQ(field_of(answer, "Alt-Svc"), "");
}

TEST(EdgeMessages, C01_AWideCookieIsNarrowedAndToldOf) {
  ScriptedUpstream upstream(
      answer_always("HTTP/1.1 200 OK\r\nSet-Cookie: sid=1; Domain=dev.localhost; Path=/\r\n"
                    "Set-Cookie: own=2\r\nContent-Length: 0\r\n\r\n"));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  const std::string answer = get(edge.plain_port(), kAlpha);
  EXPECT_EQ(field_of(answer, "Set-Cookie"), "sid=1; Path=/; Domain=alpha.dev.localhost");
  EXPECT_NE(answer.find("Set-Cookie: own=2\r\n"), std::string::npos);
  EXPECT_EQ(field_of(answer, "Hedge-Cookie"), "narrowed=sid");
}

TEST(EdgeMessages, TheAccessLogHasOneLineForEachRequestAndNoSecrets) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  fetch(edge.plain_port(),
        "GET /x?q=1 HTTP/1.1\r\nHost: alpha.dev.localhost\r\nCookie: secret1\r\nAuthorization: "
        "secret2\r\nX-Request-Id: id-7\r\n");
  get(edge.plain_port(), "nobody.dev.localhost");
  const std::vector<std::string> lines = edge.stop_and_read_log();
  ASSERT_EQ(lines.size(), 2U);
  for (const std::string expected :
       {"\"host\":\"alpha.dev.localhost\"", "\"worktree\":\"alpha\"", "\"method\":\"GET\"",
        "\"target\":\"/x?q=1\"", "\"status\":200", "\"bytes_out\":2", "\"request_id\":\"id-7\"",
        "\"upstream\":\"127.0.0.1:"})
    EXPECT_NE(lines[0].find(expected), std::string::npos) << expected << " in " << lines[0];
  EXPECT_EQ(lines[0].find("secret"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("\"error\":\"route_unknown\""), std::string::npos) << lines[1];
}

}  // namespace
}  // namespace hedge::test
