// Upstreams that die, lie or dawdle, and clients that leave.
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAlpha = "alpha.dev.localhost";
const std::string kGet = "GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n";

enum class Death { fin, rst };

// Answers one request on each connection; with the next request's bytes it dies.
ScriptedUpstream::Script die_with_the_second_request(Death death) {
  return [death](PeerConnection& connection, int /*number*/) {
    const std::string length = field_of(connection.read_head(), "Content-Length");
    if (!length.empty()) connection.read_bytes(std::stoul(length));
    connection.send(ok_response("ok"));
    connection.read_bytes(1);
    if (death == Death::rst) connection.rst();
  };
}

std::string post(int id) {
  return "POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nContent-Length: 8\r\n\r\nid" +
         std::to_string(100000 + id);
}

TEST(StaleConnections, E14_AGetIsRepeatedOnceOnAFreshConnection) {
  ScriptedUpstream upstream(die_with_the_second_request(Death::fin));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  for (int i = 0; i < 100; ++i) {
    client.send(kGet);
    ASSERT_EQ(client.read_until("ok"), ok_response("ok")) << i;
  }
  EXPECT_GT(edge.retries(), 0U);
}

TEST(StaleConnections, E14_APostIsNeverSentTwice) {
  ScriptedUpstream upstream(die_with_the_second_request(Death::fin));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  int bad = 0;
  for (int i = 0; i < 100; ++i) {
    client.send(post(i));
    const std::string head = client.read_head();
    const int length = std::stoi(field_of(head, "Content-Length"));
    client.read_bytes(static_cast<std::size_t>(length));
    ASSERT_TRUE(status_of(head) == 200 || status_of(head) == 502) << head;
    if (status_of(head) == 502) {
      ++bad;
      EXPECT_EQ(field_of(head, "Hedge-Error"), "upstream_closed");
    }
  }
  EXPECT_GT(bad, 0);
  for (int i = 0; i < 100; ++i) EXPECT_LE(upstream.count("id" + std::to_string(100000 + i)), 1);
}

TEST(StaleConnections, E15_EndAndResetAreTheSameEvent) {
  for (const Death death : {Death::fin, Death::rst}) {
    ScriptedUpstream upstream(die_with_the_second_request(death));
    EdgeFixture edge({route_to(kAlpha, upstream.route())});
    PeerConnection client = PeerConnection::to(edge.plain_port());
    for (int i = 0; i < 100; ++i) {
      client.send(kGet);
      ASSERT_EQ(client.read_until("ok"), ok_response("ok")) << i;
    }
  }
}

TEST(StaleConnections, E15_AResetBeforeTheNextRequestIsNeverSeen) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send(ok_response("ok"));
    connection.rst();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  for (int i = 0; i < 100; ++i) {
    client.send(kGet);
    const std::string answer = client.read_until("ok");
    // The reset may overtake the answer itself; then the edge asks again.
    ASSERT_EQ(answer, ok_response("ok")) << i;
  }
}

TEST(DyingUpstreams, AFreshConnectionThatDiesIsABadGateway) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) { connection.read_head(); });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  const std::string answer = get(edge.plain_port(), kAlpha);
  EXPECT_EQ(status_of(answer), 502);
  EXPECT_EQ(field_of(answer, "Hedge-Error"), "upstream_closed");
  EXPECT_EQ(upstream.accepted(), 1);
}

TEST(DyingUpstreams, GarbageIsABadGateway) {
  ScriptedUpstream upstream(answer_always("SSH-2.0-OpenSSH_9.2\r\n\r\n"));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  const std::string answer = get(edge.plain_port(), kAlpha);
  EXPECT_EQ(status_of(answer), 502);
  EXPECT_EQ(field_of(answer, "Hedge-Error"), "upstream_bad_response");
}

TEST(DyingUpstreams, ABodyThatIsCutIsCutForTheClientToo) {
  ScriptedUpstream upstream([](PeerConnection& connection, int number) {
    connection.read_head();
    connection.send(number == 0 ? "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
                                : "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  for (int i = 0; i < 2; ++i) {
    PeerConnection client = PeerConnection::to(edge.plain_port());
    client.send(kGet);
    const std::string answer = client.read_all();
    EXPECT_NE(answer.find("half"), std::string::npos) << answer;
    EXPECT_FALSE(answer.ends_with("0\r\n\r\n")) << answer;
  }
}

// Without chunks only the end of the connection ends the body, so a FIN would make the half look whole.
TEST(DyingUpstreams, ACutBodyLooksCutAlsoWhileTheClientStillSends) {
  std::promise<void> half_seen;
  ScriptedUpstream upstream([&half_seen](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
    half_seen.get_future().wait_for(kPeerLimit);
    connection.send("zz\r\n");
    connection.wait_for_end();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("POST / HTTP/1.0\r\nHost: alpha.dev.localhost\r\nContent-Length: 100\r\n\r\nfirst");
  EXPECT_NE(client.read_until("half"), "");
  half_seen.set_value();
  EXPECT_TRUE(client.wait_for_end());
  EXPECT_TRUE(client.was_reset());
}

TEST(Uploads, E08_TheUpstreamsContinueReachesTheClientBeforeTheBody) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 100 Continue\r\n\r\n");
    connection.read_bytes(5);
    connection.send(ok_response("ok"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(
      "POST /u HTTP/1.1\r\nHost: alpha.dev.localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.read_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  EXPECT_EQ(client.read_until("ok"), ok_response("ok"));
  EXPECT_EQ(upstream.count("hello"), 1);
  EXPECT_EQ(field_of(upstream.received(), "Expect"), "100-continue");
}

TEST(Uploads, E08_AnUpstreamThatIgnoresTheExpectationIsAnsweredFor) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.read_bytes(5);
    connection.send(ok_response("ok"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(
      "POST /u HTTP/1.1\r\nHost: alpha.dev.localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.read_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  EXPECT_EQ(client.read_until("ok"), ok_response("ok"));
}

TEST(Uploads, E08_AnHttp10ClientIsNeverSentAContinue) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 100 Continue\r\n\r\n");
    connection.read_bytes(5);
    connection.send(ok_response("ok"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(
      "POST /u HTTP/1.0\r\nHost: alpha.dev.localhost\r\nExpect: 100-continue\r\nContent-Length: "
      "5\r\n\r\nhello");
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(field_of(upstream.received(), "Expect"), "");
}

TEST(Uploads, AnyNumberOfInterimResponsesPasses) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    for (int i = 0; i < 3; ++i) connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    connection.send(ok_response("ok"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read_head(), "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
  EXPECT_EQ(client.read_until("ok"), ok_response("ok"));
}

TEST(Uploads, E09_AnEarlyAnswerArrivesWhileTheUploadGoesOn) {
  ScriptedUpstream upstream([](PeerConnection& connection, int number) {
    connection.read_head();
    if (number > 0) {
      connection.send(ok_response("ok"));
      return;
    }
    connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nnope");
    connection.wait_for_end();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nContent-Length: 52428800\r\n\r\n" +
              std::string(1U << 20, 'u'));
  const std::string answer = client.read_all();
  EXPECT_EQ(status_of(answer), 401);
  EXPECT_EQ(field_of(answer, "Connection"), "close");
  EXPECT_EQ(body_of(answer), "nope");
  EXPECT_EQ(body_of(get(edge.plain_port(), kAlpha)), "ok");
  EXPECT_EQ(upstream.accepted(), 2);
}

TEST(Uploads, AMalformedUploadIsRefusedAndTheUpstreamCancelled) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) { connection.wait_for_end(); });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  ASSERT_TRUE(upstream.wait_until([](const std::string& got, int) { return got.ends_with("\r\n\r\n"); }));
  client.send("zz\r\n");
  EXPECT_EQ(status_of(client.read_all()), 400);
}

TEST(Uploads, OneThatTurnsMalformedUnderItsAnswerIsTheClientsFaultInTheLog) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    connection.wait_for_end();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("POST / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  ASSERT_TRUE(client.read_until("half").ends_with("half"));
  client.send("zz\r\n");
  EXPECT_TRUE(client.wait_for_end());
  const std::vector<std::string> lines = edge.stop_and_read_log();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("\"error\":\"bad_request\""), std::string::npos) << lines[0];
}

TEST(Clients, E41_AHalfClosedClientStillGetsItsAnswer) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  client.fin();
  EXPECT_EQ(client.read_all(), ok_response("ok"));
}

TEST(Clients, E41_AHalfClosedClientGetsALateAnswerToo) {
  // The answer comes after the edge has asked whether the client is still there.
  ScriptedUpstream gate([](PeerConnection& connection, int /*number*/) { connection.read_all(); });
  ScriptedUpstream upstream([&gate](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    gate.wait_until([](const std::string& got, int) { return got.find("go") != std::string::npos; });
    connection.send(ok_response("late"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  client.fin();
  EXPECT_EQ(client.read_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  PeerConnection opener = PeerConnection::to(gate.port());
  opener.send("go");
  EXPECT_EQ(client.read_all(), ok_response("late"));
}

TEST(Clients, E41_AHalfClosedClientThatLeavesLaterEndsTheUpstreamToo) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.wait_for_end();
    connection.on_received("ended");
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  client.fin();
  EXPECT_EQ(client.read_head(), "HTTP/1.1 100 Continue\r\n\r\n") << "asked, and still there";
  client.close();
  EXPECT_TRUE(upstream.wait_until([](const std::string& got, int) { return got.ends_with("ended"); }));
}

TEST(Clients, E41_AClientThatLeavesDuringADownloadEndsTheUpstream) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 200 OK\r\n\r\n");
    while (connection.send(std::string(65536, 'x'))) {
    }
  });
  ScriptedUpstream quiet([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 200 OK\r\n\r\nfirst");
    connection.wait_for_end();
    connection.on_received("ended");
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route()), route_to("beta.dev.localhost", quiet.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  client.read_bytes(1U << 20);
  client.close();
  PeerConnection other = PeerConnection::to(edge.plain_port());
  other.send("GET / HTTP/1.1\r\nHost: beta.dev.localhost\r\n\r\n");
  other.read_until("first");
  other.close();
  EXPECT_TRUE(quiet.wait_until([](const std::string& got, int) { return got.ends_with("ended"); }, 3s));
  // The endless one's script ends only when its connection does; the fixture's end waits for it.
}

TEST(Clients, E41_AClientThatLeavesBeforeTheAnswerEndsTheUpstreamWithinASecond) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.wait_for_end();
    connection.on_received("ended");
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  ASSERT_TRUE(upstream.wait_until([](const std::string& got, int) { return got.ends_with("\r\n\r\n"); }));
  client.close();
  EXPECT_TRUE(upstream.wait_until([](const std::string& got, int) { return got.ends_with("ended"); }, 3s));
  const std::vector<std::string> log = edge.stop_and_read_log();
  ASSERT_EQ(log.size(), 1U);
  EXPECT_NE(log[0].find("\"status\":499"), std::string::npos) << log[0];
}

TEST(Clients, AClientThatResetsBeforeTheAnswerEndsTheUpstreamAtOnce) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.wait_for_end();
    connection.on_received("ended");
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  ASSERT_TRUE(upstream.wait_until([](const std::string& got, int) { return got.ends_with("\r\n\r\n"); }));
  client.rst();
  EXPECT_TRUE(upstream.wait_until([](const std::string& got, int) { return got.ends_with("ended"); }, 3s));
}

TEST(Clients, ASlowReaderHoldsTheUpstreamBack) {
  constexpr std::size_t kBody = 64U << 20;
  std::size_t sent = 0;
  std::mutex mutex;
  ScriptedUpstream upstream([&](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBody) + "\r\n\r\n");
    const std::string piece(1U << 20, 'x');
    for (std::size_t i = 0; i < kBody / piece.size() && connection.send(piece); ++i) {
      const std::lock_guard lock(mutex);
      sent += piece.size();
    }
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send(kGet);
  client.read_head();
  // Another request through the same worker proves that it is not stuck in the first one.
  EXPECT_EQ(status_of(get(edge.plain_port(), "nobody.dev.localhost")), 404);
  {
    const std::lock_guard lock(mutex);
    EXPECT_LT(sent, kBody) << "the edge has swallowed the body";
  }
  EXPECT_EQ(client.read_bytes(kBody).size(), kBody);
}

}  // namespace
}  // namespace hedge::test
