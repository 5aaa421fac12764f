// Requests and responses of an HTTP/2 client through the edge.
#include <cstdint>
#include <memory>
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
constexpr const char* kBeta = "beta.dev.localhost";

struct Http2World {
  explicit Http2World(ScriptedUpstream::Script script)
      : upstream(std::move(script)), edge({route_to(kAlpha, upstream.route())}), client(edge.plain_port()) {
    client.start();
  }
  ScriptedUpstream upstream;
  EdgeFixture edge;
  Http2Peer client;
};

TEST(Http2Message, ARequestByPriorKnowledgeIsAnswered) {
  Http2World world(answer_always(ok_response("hello")));
  world.client.send_headers(1, h2::get(kAlpha, "/path?q=1"));
  const Http2Answer& answer = world.client.answer(1);
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_EQ(answer.field("content-length"), "5");
  const std::string seen = world.upstream.received();
  EXPECT_TRUE(seen.starts_with("GET /path?q=1 HTTP/1.1\r\nHost: alpha.dev.localhost\r\n")) << seen;
  EXPECT_EQ(field_of(seen, "Via"), "2.0 hedge");
  EXPECT_EQ(field_of(seen, "X-Forwarded-Proto"), "http");
}

TEST(Http2Message, ThePrefaceMayComeByteByByte) {
  ScriptedUpstream upstream(answer_always(ok_response("hello")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.plain()->send_slowly(h2::kPreface);
  client.plain()->send_slowly(
      h2::frame(h2::kSettings, 0, 0, {}) +
      h2::frame(h2::kHeaders, h2::kEndHeaders | h2::kEndStream, 1, h2::header_block(h2::get(kAlpha))));
  EXPECT_EQ(client.answer(1).body, "hello");
}

TEST(Http2Message, E06_StreamsOfOneConnectionAreRoutedByTheirOwnAuthority) {
  ScriptedUpstream alpha(answer_always(ok_response("alpha")));
  ScriptedUpstream beta(answer_always(ok_response("beta")));
  EdgeOptions options;
  options.tls = true;
  EdgeFixture edge({route_to(kAlpha, alpha.route()), route_to(kBeta, beta.route())}, std::move(options));
  Http2Peer client(std::make_unique<TlsPeer>(edge.tls_port(), kAlpha, edge.root_certificate(), "h2"));
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  client.send_headers(3, h2::get(kBeta));
  client.send_headers(5, h2::get("nobody.dev.localhost"));
  EXPECT_EQ(client.answer(1).body, "alpha");
  EXPECT_EQ(client.answer(3).body, "beta");
  EXPECT_EQ(client.answer(5).status(), 404) << "an unknown name is not a misdirected request";
  EXPECT_EQ(client.answer(5).field("hedge-error"), "route_unknown");
  EXPECT_EQ(field_of(alpha.received(), "X-Forwarded-Proto"), "https");
}

TEST(Http2Message, E17_TheCaseOfTheAuthorityDoesNotMatter) {
  Http2World world(answer_always(ok_response("hello")));
  world.client.send_headers(1, h2::get("ALPHA.Dev.LocalHost"));
  EXPECT_EQ(world.client.answer(1).status(), 200);
}

TEST(Http2Message, E29_CookieCrumbsAreJoinedInTheirOrder) {
  Http2World world(answer_always(ok_response("hello")));
  h2::Fields fields = h2::get(kAlpha);
  for (const char* crumb : {"a=1", "b=2", "sess=x"}) fields.emplace_back("cookie", crumb);
  world.client.send_headers(1, fields);
  EXPECT_EQ(world.client.answer(1).status(), 200);
  EXPECT_EQ(world.upstream.count("ookie: "), 1);
  EXPECT_EQ(field_of(world.upstream.received(), "cookie"), "a=1; b=2; sess=x");
}

TEST(Http2Message, E38_AHostFieldBesideTheAuthorityMustSayTheSame) {
  Http2World world(answer_always(ok_response("hello")));
  world.client.send_headers(1, h2::with(h2::get(kAlpha), "host", kAlpha));
  EXPECT_EQ(world.client.answer(1).status(), 200);
  EXPECT_EQ(world.upstream.count("ost: alpha.dev.localhost\r\n"), 2) << "Host and X-Forwarded-Host";
  world.client.send_headers(3, h2::with(h2::get(kAlpha), "host", kBeta));
  EXPECT_EQ(world.client.answer(3).status(), 400);
  EXPECT_EQ(world.client.so_far(3).field("hedge-error"), "bad_request");
}

TEST(Http2Message, AHostFieldAloneIsEnough) {
  Http2World world(answer_always(ok_response("hello")));
  world.client.send_headers(1, {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {"host", kAlpha}});
  EXPECT_EQ(world.client.answer(1).status(), 200);
}

TEST(Http2Message, ABodyOfUnknownLengthIsChunkedTowardsTheUpstream) {
  Http2World world([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.read_until("0\r\n\r\n");
    connection.send(ok_response("done"));
    connection.read_all();
  });
  world.client.send_headers(1, h2::post(kAlpha), h2::kNone);
  world.client.send_body(1, "first ", false);
  world.client.send_body(1, "second", true);
  EXPECT_EQ(world.client.answer(1).body, "done");
  const std::string seen = world.upstream.received();
  EXPECT_EQ(field_of(seen, "Transfer-Encoding"), "chunked");
  EXPECT_NE(seen.find("first "), std::string::npos);
  EXPECT_NE(seen.find("second"), std::string::npos);
}

TEST(Http2Message, ABodyOfKnownLengthKeepsIt) {
  Http2World world([](PeerConnection& connection, int /*number*/) {
    connection.read_until("hello");
    connection.send(ok_response("done"));
    connection.read_all();
  });
  world.client.send_headers(1, h2::with(h2::post(kAlpha), "content-length", "5"), h2::kNone);
  world.client.send_body(1, "hello");
  EXPECT_EQ(world.client.answer(1).body, "done");
  EXPECT_EQ(field_of(world.upstream.received(), "Content-Length"), "5");
  EXPECT_EQ(field_of(world.upstream.received(), "Transfer-Encoding"), "");
}

TEST(Http2Message, APostWithoutABodySaysSo) {
  Http2World world(answer_always(ok_response("hello")));
  world.client.send_headers(1, h2::post(kAlpha));
  EXPECT_EQ(world.client.answer(1).status(), 200);
  EXPECT_EQ(field_of(world.upstream.received(), "Content-Length"), "0");
}

TEST(Http2Message, AMegabyteComesBackUnchanged) {
  std::string body(1U << 20, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  Http2World world([&body](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    const std::string got = connection.read_bytes(body.size());
    connection.send(ok_response(got));
    connection.read_all();
  });
  world.client.send_headers(1, h2::with(h2::post(kAlpha), "content-length", std::to_string(body.size())),
                            h2::kNone);
  ASSERT_TRUE(world.client.send_body(1, body));
  const Http2Answer& answer = world.client.answer(1);
  EXPECT_TRUE(answer.ended);
  EXPECT_TRUE(answer.body == body) << answer.body.size();
}

TEST(Http2Message, ResponsesWithoutABodyEndWithTheirHead) {
  Http2World world([](PeerConnection& connection, int /*number*/) {
    for (;;) {
      const std::string head = connection.read_head();
      if (head.empty()) return;
      if (head.starts_with("HEAD")) connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n");
      if (head.starts_with("GET /204")) connection.send("HTTP/1.1 204 No Content\r\n\r\n");
      if (head.starts_with("GET /304"))
        connection.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\nETag: \"x\"\r\n\r\n");
      if (head.starts_with("GET /0")) connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
  });
  h2::Fields head = h2::get(kAlpha);
  head[0].second = "HEAD";
  world.client.send_headers(1, head);
  world.client.send_headers(3, h2::get(kAlpha, "/204"));
  world.client.send_headers(5, h2::get(kAlpha, "/304"));
  world.client.send_headers(7, h2::get(kAlpha, "/0"));
  EXPECT_EQ(world.client.answer(1).field("content-length"), "1234");
  EXPECT_EQ(world.client.answer(3).status(), 204);
  EXPECT_EQ(world.client.answer(5).status(), 304);
  EXPECT_EQ(world.client.answer(5).field("etag"), "\"x\"");
  EXPECT_EQ(world.client.answer(7).field("content-length"), "0");
  for (const std::uint32_t stream : {1U, 3U, 5U, 7U}) {
    EXPECT_TRUE(world.client.so_far(stream).ended) << stream;
    EXPECT_TRUE(world.client.so_far(stream).data_lengths.empty()) << stream;
    EXPECT_FALSE(world.client.so_far(stream).reset.has_value()) << stream;
  }
}

TEST(Http2Message, E12_TrailersPassUnannouncedInBothDirections) {
  Http2World world([](PeerConnection& connection, int /*number*/) {
    connection.read_until("x-sum: 7\r\n\r\n");
    connection.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\ngrpc-status: 0\r\nX-T: "
        "1\r\n\r\n");
    connection.read_all();
  });
  world.client.send_headers(1, h2::with(h2::post(kAlpha), "te", "trailers"), h2::kNone);
  world.client.send_body(1, "data", false);
  world.client.send_headers(1, {{"x-sum", "7"}, {"authorization", "x"}});
  const Http2Answer& answer = world.client.answer(1);
  EXPECT_EQ(answer.body, "ok");
  ASSERT_EQ(answer.heads.size(), 2U);
  EXPECT_EQ(answer.heads[1], (h2::Fields{{"grpc-status", "0"}, {"x-t", "1"}}));
  const std::string seen = world.upstream.received();
  EXPECT_EQ(field_of(seen, "TE"), "trailers");
  EXPECT_EQ(field_of(seen, "Connection"), "TE");
  EXPECT_TRUE(seen.ends_with("0\r\nx-sum: 7\r\n\r\n"))
      << "what authenticates has no place in a trailer: " << seen;
}

TEST(Http2Message, TrailersWithoutABodyArrive) {
  Http2World world(
      answer_always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\ngrpc-status: 5\r\n\r\n"));
  world.client.send_headers(1, h2::get(kAlpha));
  const Http2Answer& answer = world.client.answer(1);
  EXPECT_TRUE(answer.ended);
  EXPECT_EQ(answer.field("grpc-status"), "5");
}

TEST(Http2Message, InterimResponsesPassInAnyNumber) {
  Http2World world([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </b>\r\n\r\n");
    connection.send(ok_response("final"));
    connection.read_all();
  });
  world.client.send_headers(1, h2::get(kAlpha));
  const Http2Answer& answer = world.client.answer(1);
  ASSERT_EQ(answer.heads.size(), 3U);
  EXPECT_EQ(answer.heads[0], (h2::Fields{{":status", "103"}, {"link", "</a>"}}));
  EXPECT_EQ(answer.heads[1], (h2::Fields{{":status", "103"}, {"link", "</b>"}}));
  EXPECT_EQ(answer.body, "final");
}

TEST(Http2Message, AnExpectationThatNobodyAnswersIsAnsweredByTheEdge) {
  Http2World world([](PeerConnection& connection, int /*number*/) {
    connection.read_until("hello");
    connection.send(ok_response("done"));
    connection.read_all();
  });
  world.client.send_headers(
      1, h2::with(h2::with(h2::post(kAlpha), "expect", "100-continue"), "content-length", "5"), h2::kNone);
  ASSERT_TRUE(world.client.read_until([&world] { return world.client.so_far(1).status() == 100; }));
  world.client.send_body(1, "hello");
  EXPECT_EQ(world.client.answer(1).body, "done");
}

TEST(Http2Message, FieldsOfTheConnectionStayOnIt) {
  Http2World world(answer_always(
      "HTTP/1.1 200 OK\r\nConnection: X-Private, keep-alive\r\nX-Private: 1\r\nKeep-Alive: timeout=9\r\n"
      "Proxy-Authenticate: x\r\nX-Public: 2\r\nContent-Length: 2\r\n\r\nok"));
  world.client.send_headers(1, h2::get(kAlpha));
  const Http2Answer& answer = world.client.answer(1);
  EXPECT_EQ(answer.body, "ok");
  for (const char* name : {"connection", "x-private", "keep-alive", "proxy-authenticate"})
    EXPECT_EQ(answer.field(name), "") << name;
  EXPECT_EQ(answer.field("x-public"), "2");
}

TEST(Http2Message, E26_TheHeadAndEveryEventLeaveAsTheyCome) {
  EventCount go_on;
  ScriptedUpstream upstream([&go_on](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    for (int event = 1; event <= 2; ++event) {
      go_on.wait_for(event);
      connection.send("data: " + std::to_string(event) + "\n\n");
    }
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::with(h2::get(kAlpha), "accept-encoding", "gzip"));
  EXPECT_EQ(client.head(1).status(), 200) << "before the first event";
  EXPECT_EQ(client.so_far(1).body, "");
  go_on.add();
  ASSERT_TRUE(client.read_until([&client] { return client.so_far(1).body == "data: 1\n\n"; }));
  EXPECT_FALSE(client.so_far(1).ended);
  go_on.add();
  EXPECT_EQ(client.answer(1).body, "data: 1\n\ndata: 2\n\n");
  EXPECT_TRUE(client.so_far(1).ended);
}

TEST(Http2Message, AHundredStreamsAtOnceAreAllAnswered) {
  Http2World world(answer_always(ok_response("hello")));
  std::string all;
  for (std::uint32_t i = 0; i < 100; ++i)
    all += h2::frame(h2::kHeaders, h2::kEndHeaders | h2::kEndStream, 2 * i + 1,
                     h2::header_block(h2::get(kAlpha, "/" + std::to_string(i))));
  world.client.send(all);
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(world.client.answer(2 * i + 1).body, "hello") << i;
}

TEST(Http2Message, ThePlainRequestsOfATlsPortAreSentToHttps) {
  ScriptedUpstream upstream(answer_always(ok_response("hello")));
  EdgeOptions options;
  options.tls = true;
  EdgeFixture edge({route_to(kAlpha, upstream.route())}, std::move(options));
  Http2Peer client(edge.tls_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha, "/x"));
  EXPECT_EQ(client.answer(1).status(), 307);
  EXPECT_EQ(client.so_far(1).field("location"),
            "https://alpha.dev.localhost:" + std::to_string(edge.tls_port()) + "/x");
}

TEST(Http2Message, EveryRequestIsLogged) {
  Http2World world(answer_always(ok_response("hello")));
  world.client.send_headers(1, h2::get(kAlpha, "/logged"));
  EXPECT_EQ(world.client.answer(1).status(), 200);
  world.client.plain()->close();
  const std::vector<std::string> lines = world.edge.stop_and_read_log();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("\"target\":\"/logged\""), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("\"status\":200"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("\"bytes_out\":5"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace hedge::test
