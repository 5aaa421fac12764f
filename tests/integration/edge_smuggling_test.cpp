// What must never be passed on: requests whose end two readers would see differently.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";

struct Attack {
  std::string framing;  // field lines
  int status = 400;
};

class Smuggling : public testing::Test {
 protected:
  // Sends the request and reads to the end that the edge makes.
  std::string attack(const std::string& request) {
    PeerConnection client = PeerConnection::to(edge_.plain_port());
    client.send(request);
    std::string answer = client.read_all();
    return answer;
  }

  ScriptedUpstream upstream_{answer_always(ok_response("ok"))};
  EdgeFixture edge_{{route_to(kAlpha, upstream_.route()), route_to("beta.dev.localhost", upstream_.route())}};
};

TEST_F(Smuggling, E27_NoCombinationOfLengthAndCodingPasses) {
  const std::vector<Attack> attacks = {
      {"Content-Length: 61\r\nTransfer-Encoding: chunked\r\n"},
      {"Transfer-Encoding: chunked\r\nContent-Length: 61\r\n"},
      {"Content-Length: 61\r\nTransfer-Encoding: chunked \r\n"},
      {"Content-Length: 61\r\nTransfer-Encoding: chunked\t\r\n"},
      {"Content-Length: 61\r\nTransfer-Encoding: chunked,\r\n"},
      {"Content-Length: 61\r\nTransfer-Encoding: chunked, gzip\r\n"},
      {"Content-Length: 61\r\nTransfer-Encoding: xchunked\r\n"},
      {"Content-Length: 61\r\nTransfer-Encoding: identity\r\n"},
      {"Content-Length: 61\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
      {"Content-Length: 61\r\nTransfer-Encoding : chunked\r\n"},
      {"Content-Length: 61\r\nTransfer-Encoding:\r\n chunked\r\n"},
      {"Transfer-Encoding: xchunked\r\n", 501},
      {"Transfer-Encoding: chunked,\r\n"},
  };
  for (const Attack& each : attacks) {
    const std::string answer = attack("POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n" + each.framing +
                                      "\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: beta.dev.localhost\r\n\r\n");
    EXPECT_EQ(status_of(answer), each.status) << each.framing;
    EXPECT_EQ(field_of(answer, "Connection"), "close") << each.framing;
  }
  EXPECT_EQ(upstream_.accepted(), 0);
  EXPECT_EQ(upstream_.received(), "");
}

TEST_F(Smuggling, E28_NoMalformedLengthPasses) {
  for (const std::string value :
       {"+5", "5, 6", "0x5", "-1", "99999999999999999999", "5 5", "", "5\r\nContent-Length: 6"}) {
    const std::string answer =
        attack("POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nContent-Length: " + value + "\r\n\r\nhello");
    EXPECT_EQ(status_of(answer), 400) << value;
  }
  EXPECT_EQ(upstream_.received(), "");
}

TEST_F(Smuggling, E28_TheSameLengthTwiceIsOne) {
  PeerConnection client = PeerConnection::to(edge_.plain_port());
  client.send(
      "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nContent-Length: 5, 5\r\nConnection: "
      "close\r\n\r\nhello");
  EXPECT_EQ(status_of(client.read_all()), 200);
  EXPECT_EQ(upstream_.count("Content-Length: 5\r\n"), 1);
}

TEST_F(Smuggling, E28_NoMalformedChunkPasses) {
  for (const std::string line :
       {"+5\r\n", "0x5\r\n", "5 ;x\r\n", "FFFFFFFFFFFFFFFF\r\n", "5\n", " 5\r\n", "\r\n", "5;\x01\r\n"}) {
    const std::string answer =
        attack("POST /chunk HTTP/1.1\r\nHost: alpha.dev.localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
               line + "hello\r\n0\r\n\r\n");
    EXPECT_EQ(status_of(answer), 400) << line;
    EXPECT_EQ(field_of(answer, "Hedge-Error"), "bad_request") << line;
  }
  EXPECT_EQ(upstream_.count("hello"), 0);
}

// An upstream that reads the body would take the next request for the rest of it.
TEST(SmuggledTrailers, E27_AMalformedOneIsRefusedAndItsUpstreamIsNotUsedAgain) {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string body = "5\r\nhello\r\n0\r\nbad trailer\r\n\r\n";
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    if (connection.read_head().starts_with("GET")) {
      connection.send(ok_response("ok"));
    } else {
      connection.wait_for_end();
    }
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  for (std::size_t cut = 0; cut < body.size(); ++cut) {
    PeerConnection client = PeerConnection::to(edge.plain_port());
    client.send(head + body.substr(0, cut));
    client.send(body.substr(cut));
    const std::string answer = client.read_all();
    EXPECT_EQ(status_of(answer), 400) << cut;
    EXPECT_EQ(field_of(answer, "Hedge-Error"), "bad_request") << cut;
    EXPECT_EQ(body_of(get(edge.plain_port(), kAlpha)), "ok") << cut;
  }
}

TEST_F(Smuggling, NoOddLinePasses) {
  const std::vector<std::string> heads = {
      "GET / HTTP/1.1\nHost: alpha.dev.localhost\n\n",
      "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nX: 1\rY: 2\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nX: 1\r\n folded\r\n\r\n",
      "GET / HTTP/1.1\r\nHost : alpha.dev.localhost\r\n\r\n",
      std::string("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nX: a\0b\r\n\r\n", 53),
      "GET / HTTP/2.0\r\nHost: alpha.dev.localhost\r\n\r\n",
  };
  for (const std::string& head : heads) EXPECT_EQ(status_of(attack(head)), 400) << head;
  EXPECT_EQ(upstream_.received(), "");
}

TEST_F(Smuggling, ARequestLineThatIsTooLongIsToldSo) {
  const std::string answer =
      attack("GET /" + std::string(17U << 10, 'x') + " HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n");
  EXPECT_EQ(status_of(answer), 414);
  EXPECT_EQ(field_of(answer, "Hedge-Error"), "uri_too_long");
}

TEST(SmuggledResponses, AResponseWithTwoFramingsIsABadGateway) {
  ScriptedUpstream upstream(
      answer_always("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: "
                    "chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\nevil"));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  const std::string answer = get(edge.plain_port(), kAlpha);
  EXPECT_EQ(status_of(answer), 502);
  EXPECT_EQ(field_of(answer, "Hedge-Error"), "upstream_bad_response");
  EXPECT_EQ(answer.find("evil"), std::string::npos);
}

TEST(SmuggledResponses, AMalformedTrailerIsABadGatewayAndItsConnectionIsNotUsedAgain) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    while (!connection.read_head().empty())
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nbad trailer\r\n\r\n");
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  for (const char* version : {"1.1", "1.0"}) {
    const std::string answer =
        fetch(edge.plain_port(), std::string("GET / HTTP/") + version + "\r\nHost: alpha.dev.localhost\r\n");
    EXPECT_EQ(status_of(answer), 502) << version;
    EXPECT_EQ(field_of(answer, "Hedge-Error"), "upstream_bad_response") << version;
  }
  EXPECT_EQ(upstream.accepted(), 2);
}

TEST(SmuggledResponses, BytesBehindAResponseEndTheConnectionAndReachNobody) {
  ScriptedUpstream upstream(
      answer_always(ok_response("ok") + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  for (int i = 0; i < 5; ++i) {
    client.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n");
    EXPECT_EQ(client.read_until("ok"), ok_response("ok"));
  }
  EXPECT_EQ(upstream.accepted(), 5);
}

}  // namespace
}  // namespace hedge::test
