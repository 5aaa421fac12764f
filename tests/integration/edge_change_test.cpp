// Routes and addresses that go away while clients are there.
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "router/route_table.h"
#include "tests/support/edge_fixture.h"
#include "tests/support/event_count.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";
constexpr const char* kBeta = "beta.dev.localhost";

// False: not within ten seconds.
bool wait_until(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

router::Route route_of(const std::string& worktree, const std::string& host, const std::string& upstream) {
  router::Route route = route_to(host, upstream);
  route.worktree = worktree;
  return route;
}

TEST(RoutesThatGo, AWorktreeWithAnOpenRequestIsForgottenWhenThatHasEnded) {
  EventCount go_on;
  ScriptedUpstream slow([&go_on](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    go_on.wait_for(1);
    connection.send(ok_response("late"));
    connection.read_all();
  });
  ScriptedUpstream quick(answer_always(ok_response("ok")));
  EdgeOptions options;
  options.settings.limits.sweep = std::chrono::milliseconds(10);
  EdgeFixture edge({route_of("busy", kAlpha, slow.route()), route_of("quiet", kBeta, quick.route())},
                   std::move(options));
  const auto counts = [&edge](const std::string& worktree) {
    return edge.server().metrics().traffic.contains(worktree);
  };
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n");
  ASSERT_TRUE(slow.wait_until([](const std::string&, int accepted) { return accepted == 1; }));
  EXPECT_EQ(status_of(get(edge.plain_port(), kBeta)), 200);
  EXPECT_TRUE(counts("busy") && counts("quiet"));
  edge.server().publish(router::RouteTable::build({}));
  EXPECT_TRUE(wait_until([&] { return !counts("quiet"); }));
  EXPECT_TRUE(counts("busy"));
  go_on.add();
  EXPECT_EQ(status_of(client.read_head()), 200);
  EXPECT_TRUE(wait_until([&] { return !counts("busy"); }));
}

TEST(AddressesThatGo, ClientsAboveTheLimitOfConnectionsAreServedToo) {
  ScriptedUpstream upstream(answer_always(ok_response("ok")));
  EdgeOptions options;
  options.settings.most_connections = 1;
  EdgeFixture edge({route_to(kAlpha, upstream.route())}, std::move(options));
  PeerConnection inside = PeerConnection::to(edge.plain_port());
  inside.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n");
  ASSERT_EQ(status_of(inside.read_head()), 200);
  PeerConnection waiting = PeerConnection::to(edge.plain_port());
  waiting.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\nConnection: close\r\n\r\n");
  edge.server().remove_address(edge.server().addresses().front().number);
  EXPECT_EQ(status_of(waiting.read_all()), 200);
}

}  // namespace
}  // namespace hedge::test
