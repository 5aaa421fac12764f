// Which calls share which connection to an h2c upstream.
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/event_count.h"
#include "tests/support/http2_peer.h"
#include "tests/support/name_server.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAlpha = "alpha.dev.localhost";
constexpr const char* kBeta = "beta.dev.localhost";

router::Route h2c_route(const char* host, const std::string& upstream) {
  router::Route route = route_to(host, upstream);
  route.protocol = router::Protocol::h2c;
  return route;
}

// Answers every request with its name.
ScriptedUpstream::Script answer_with(std::string name) {
  return [name = std::move(name)](PeerConnection& connection, int /*number*/) {
    Http2Peer peer(connection);
    for (std::uint32_t stream = 1; !peer.request(stream).empty(); stream += 2)
      peer.respond(stream, {{":status", "200"}}, name);
  };
}

// E-02, E-03: two worktrees' containers change their addresses; both listen on the same port.
TEST(Http2Sharing, E03_AConnectionToOneWorktreeNeverServesAnotherOneThatGotItsAddress) {
  ScriptedUpstream alpha(answer_with("alpha"), "127.0.0.6");
  NameServer names;
  names.set("alpha.example.test", {{"127.0.0.5"}, {}});
  EdgeOptions options;
  options.settings.name_servers = {{"127.0.0.1", names.port()}};
  options.settings.limits.resolve_ttl = 60s;
  const std::string port = ":" + std::to_string(alpha.port());
  EdgeFixture edge(
      {h2c_route(kAlpha, "dns:alpha.example.test" + port), h2c_route(kBeta, "dns:beta.example.test" + port)},
      std::move(options));
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  ASSERT_EQ(client.answer(1).field("hedge-error"), "upstream_refused");
  names.set("alpha.example.test", {{"127.0.0.6"}, {}});
  names.set("beta.example.test", {{"127.0.0.5"}, {}});
  ScriptedUpstream beta(answer_with("beta"), "127.0.0.5", alpha.port());
  client.send_headers(3, h2::get(kAlpha));
  EXPECT_EQ(client.answer(3).body, "alpha");
  client.send_headers(5, h2::get(kBeta));
  EXPECT_EQ(client.answer(5).body, "beta");
  client.send_headers(7, h2::get(kAlpha));
  EXPECT_EQ(client.answer(7).body, "alpha");
}

TEST(Http2Sharing, ABurstKeepsToTheNumberOfCallsThatTheUpstreamAllows) {
  EventCount arrived;
  ScriptedUpstream upstream([&arrived](PeerConnection& connection, int number) {
    Http2Peer peer(connection, h2::setting(h2::kMaxConcurrentStreams, 4));
    const std::uint32_t due = number < 2 ? 4 : 2;
    for (std::uint32_t i = 0; i < due && !peer.request(2 * i + 1).empty(); ++i) arrived.add();
    if (!arrived.wait_for(10)) return;
    for (std::uint32_t i = 0; i < due; ++i) peer.respond(2 * i + 1, {{":status", "200"}}, "ok");
    peer.wait_for_end();
  });
  EdgeFixture edge({h2c_route(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  std::string burst;
  for (std::uint32_t i = 0; i < 10; ++i)
    burst += h2::frame(h2::kHeaders, h2::kEndHeaders | h2::kEndStream, 2 * i + 1,
                       h2::header_block(h2::get(kAlpha)));
  client.send(burst);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(client.answer(2 * i + 1).status(), 200) << i;
  EXPECT_EQ(upstream.accepted(), 3);
}

TEST(Http2Sharing, NothingJoinsAConnectionThatHasBeenSilentAboutACall) {
  ScriptedUpstream upstream([](PeerConnection& connection, int number) {
    Http2Peer peer(connection);
    peer.request(1);
    if (number > 0) peer.respond(1, {{":status", "200"}}, "ok");
    // The first one: as if the machine behind it were gone.
    connection.wait_for_end(60s);
  });
  EdgeOptions options;
  options.settings.limits.connect = 300ms;
  options.settings.limits.idle_keep_alive = 1000ms;
  options.settings.limits.sweep = 20ms;
  EdgeFixture edge({h2c_route(kAlpha, upstream.route())}, std::move(options));
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  ASSERT_TRUE(upstream.wait_until([](const std::string&, int accepted) { return accepted == 1; }));
  // An idle connection beside it shows that the time has passed.
  Http2Peer idle(edge.plain_port());
  idle.start();
  ASSERT_TRUE(idle.wait_for_end());
  client.send_headers(3, h2::get(kAlpha));
  EXPECT_EQ(client.answer(3).body, "ok");
  EXPECT_EQ(upstream.accepted(), 2);
}

// The first call is made before the settings are known; a server that never sends them gets one for each
// connection.
TEST(Http2Sharing, AnUpstreamWithoutSettingsIsAskedOverOneConnectionForEachCall) {
  EventCount arrived;
  ScriptedUpstream upstream([&arrived](PeerConnection& connection, int /*number*/) {
    connection.read_until("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    arrived.add();
    connection.wait_for_end();
  });
  EdgeFixture edge({h2c_route(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  for (std::uint32_t stream = 1; stream < 6; stream += 2) client.send_headers(stream, h2::get(kAlpha));
  EXPECT_TRUE(arrived.wait_for(3));
}

}  // namespace
}  // namespace hedge::test
