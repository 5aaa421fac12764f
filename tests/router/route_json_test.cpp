#include "router/route_json.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hedge::router {
namespace {

using nlohmann::json;

TEST(RouteJson, WritesEveryMember) {
  Route route;
  route.host = "alpha.localhost";
  route.match = HostMatch::exact_and_below;
  route.upstream = DockerUpstream{"wt-alpha-app", 8000};
  route.protocol = Protocol::h2c;
  route.worktree = "shop/alpha";
  route.state = RouteState::starting;
  EXPECT_EQ(to_json(route), json::parse(R"({"host": "alpha.localhost", "wildcard": true, "upstream":
      "docker:wt-alpha-app:8000", "protocol": "h2c", "worktree": "shop/alpha", "state": "starting"})"));
  const auto again = route_from_json(to_json(route));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), to_json(route));
}

TEST(RouteJson, LeavesOutWhatHasADefault) {
  const auto route = route_from_json(json::parse(R"({"host": "A.localhost", "upstream": "3000"})"));
  ASSERT_TRUE(route);
  EXPECT_EQ(route->host, "a.localhost");
  EXPECT_EQ(to_string(route->upstream), "tcp:127.0.0.1:3000");
  EXPECT_EQ(route->match, HostMatch::exact);
  EXPECT_EQ(route->protocol, Protocol::http1);
  EXPECT_EQ(route->worktree, "");
  EXPECT_EQ(route->state, RouteState::live);
}

struct Refused {
  std::string text;
  std::string names;  // what the message must name
};

TEST(RouteJson, RefusesWhatIsNoRouteAndNamesTheMember) {
  const std::vector<Refused> cases = {
      {"null", "object"},
      {"[]", "object"},
      {"{}", "host"},
      {R"({"host": "a"})", "upstream"},
      {R"({"upstream": "80"})", "host"},
      {R"({"host": 1, "upstream": "80"})", "host"},
      {R"({"host": "a b", "upstream": "80"})", "a b"},
      {R"({"host": "a", "upstream": 80})", "upstream"},
      {R"({"host": "a", "upstream": "x"})", "port"},
      {R"({"host": "a", "upstream": "80", "wildcard": "yes"})", "wildcard"},
      {R"({"host": "a", "upstream": "80", "protocol": "spdy"})", "spdy"},
      {R"({"host": "a", "upstream": "80", "protocol": null})", "protocol"},
      {R"({"host": "a", "upstream": "80", "worktree": []})", "worktree"},
      {R"({"host": "a", "upstream": "80", "worktree": "_other"})", "worktree"},
      {R"({"host": "a", "upstream": "80", "worktree": "\u00e9"})", "worktree"},
      {R"({"host": "a", "upstream": "80", "worktree": "a b"})", "worktree"},
      {R"({"host": "a", "upstream": "80", "worktree": ")" + std::string(65, 'x') + R"("})", "worktree"},
      {R"({"host": "a", "upstream": "80", "state": "gone"})", "gone"},
      {R"({"host": "a", "upstream": "80", "wildcards": true})", "wildcards"},
  };
  for (const Refused& row : cases) {
    const auto route = route_from_json(json::parse(row.text));
    ASSERT_FALSE(route) << row.text;
    EXPECT_EQ(route.error().kind(), ErrorKind::invalid_input);
    EXPECT_NE(route.error().text().find(row.names), std::string::npos) << route.error().text();
  }
}

}  // namespace
}  // namespace hedge::router
