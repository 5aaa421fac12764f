#include "router/route.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hedge::router {
namespace {

struct Accepted {
  std::string text;
  std::string canonical;
};

TEST(ParseUpstream, AcceptsEachFormAndWritesItCanonically) {
  const std::vector<Accepted> cases = {
      {"docker:wt-alpha-app:8000", "docker:wt-alpha-app:8000"},
      {"docker:App_1.x-y:1", "docker:App_1.x-y:1"},
      {"docker:0123456789abcdef:65535", "docker:0123456789abcdef:65535"},
      {"docker:com.docker.compose.project=wt-alpha,com.docker.compose.service=app:80",
       "docker:com.docker.compose.project=wt-alpha,com.docker.compose.service=app:80"},
      {"docker:image=registry:5000/x:80", "docker:image=registry:5000/x:80"},
      {"docker:empty=:80", "docker:empty=:80"},
      {"dns:app:80", "dns:app:80"},
      {"dns:App.Internal.:80", "dns:app.internal:80"},
      {"dns:my_service.net:80", "dns:my_service.net:80"},
      {"dns:localhost.example:80", "dns:localhost.example:80"},
      {"dns:notlocalhost:80", "dns:notlocalhost:80"},
      {"tcp:127.0.0.1:3000", "tcp:127.0.0.1:3000"},
      {"tcp:[::1]:3000", "tcp:[::1]:3000"},
      {"tcp:[0:0:0:0:0:0:0:1]:3000", "tcp:[::1]:3000"},
      {"unix:/run/app.sock", "unix:/run/app.sock"},
      {"unix:/run/a:b.sock", "unix:/run/a:b.sock"},
      {"unix:/" + std::string(106, 'a'), "unix:/" + std::string(106, 'a')},
      // For people.
      {"3000", "tcp:127.0.0.1:3000"},
      {"localhost:3000", "tcp:127.0.0.1:3000"},
      {"LocalHost:3000", "tcp:127.0.0.1:3000"},
      {"10.0.0.7:80", "tcp:10.0.0.7:80"},
      {"[::1]:80", "tcp:[::1]:80"},
      {"app:80", "dns:app:80"},
      {"db.internal:5432", "dns:db.internal:5432"},
  };
  for (const Accepted& row : cases) {
    const auto upstream = parse_upstream(row.text);
    ASSERT_TRUE(upstream) << row.text << ": " << upstream.error().text();
    EXPECT_EQ(to_string(*upstream), row.canonical);
    const auto again = parse_upstream(row.canonical);
    ASSERT_TRUE(again) << row.canonical;
    EXPECT_EQ(to_string(*again), row.canonical);
  }
}

struct Refused {
  std::string text;
  std::string where;  // part of the message
};

TEST(ParseUpstream, RefusesEverythingElseAndNamesThePlace) {
  const std::vector<Refused> cases = {
      {"", "character 1"},
      {" 3000", "character 1"},
      {"app:80\n", "character 7"},
      {std::string("app\0:80", 7), "character 4"},
      {"app", "port is missing at character 4"},
      {"app:", "character 5"},
      {"app:0", "character 5"},
      {"app:65536", "character 5"},
      {"app:80a", "character 5"},
      {"app:-1", "character 5"},
      {"0", "character 1"},
      {"70000", "character 1"},
      {":80", "host is missing at character 1"},
      {"http://app:80", "a URL is not an upstream at character 5"},
      {"::1:80", "brackets"},
      {"docker:", "port is missing"},
      {"docker::80", "host is missing at character 8"},
      {"docker:app", "port is missing at character 11"},
      {"docker:-app:80", "character 8"},
      {"docker:a/b:80", "character 9"},
      {"docker:a=b,c:80", "no value at character 12"},
      {"docker:=b:80", "character 8"},
      {"docker:a=b,,c=d:80", "character 12"},
      {"docker:a=b,c=d\xff:80", "labels are UTF-8: another byte at character 15"},
      {"docker:a=\xc3:80", "character 10"},
      {"docker:" + std::string(1025, 'a') + ":80", "character 1032"},
      {"dns::80", "host is missing"},
      {"dns:.:80", "host is missing"},
      {"dns:a..b:80", "empty label at character 7"},
      {"dns:a b:80", "character 6"},
      {"dns:-a:80", "character 5"},
      {"dns:a-:80", "character 6"},
      {"dns:127.0.0.1:80", "tcp:IP:PORT"},
      {"dns:" + std::string(64, 'a') + ":80", "63 bytes"},
      {"dns:" + std::string(254, 'a') + ":80", "253 bytes at character 258"},
      {"tcp:app:80", "not an IP address"},
      {"tcp:::1:80", "not an IP address"},
      {"tcp:[::1:80", "not an IP address"},
      {"tcp:[fe80::1%eth0]:80", "not an IP address"},
      {"tcp:256.0.0.1:80", "not an IP address"},
      {"tcp:127.1:80", "not an IP address"},
      {"tcp:0.0.0.0:80", "listen"},
      {"tcp:[::]:80", "listen"},
      {"unix:run/app.sock", "absolute"},
      {"unix:", "absolute"},
      {"unix:/" + std::string(107, 'a'), "107 bytes"},
  };
  for (const Refused& row : cases) {
    const auto upstream = parse_upstream(row.text);
    ASSERT_FALSE(upstream) << row.text;
    EXPECT_EQ(upstream.error().id(), "upstream_invalid") << row.text;
    EXPECT_NE(upstream.error().text().find(row.where), std::string::npos) << upstream.error().text();
    EXPECT_NE(upstream.error().hints().at(0).find("docker:CONTAINER:PORT"), std::string::npos);
  }
}

// Every resolver answers *.localhost with loopback, which is the edge itself: a loop, not a route.
TEST(ParseUpstream, RefusesNamesBelowLocalhost) {
  for (const std::string text :
       {"dns:localhost:80", "dns:alpha.localhost:80", "dns:A.LOCALHOST.:80", "x.localhost:3000"}) {
    const auto upstream = parse_upstream(text);
    ASSERT_FALSE(upstream) << text;
    EXPECT_NE(upstream.error().text().find(".localhost"), std::string::npos) << upstream.error().text();
    EXPECT_EQ(upstream.error().hints().size(), 2U) << "says what to write instead";
  }
}

TEST(ParseUpstream, MessagesCarryNoControlCharactersOfTheInput) {
  const std::string hostile("a\x1b[31m\r\n:80");
  const auto upstream = parse_upstream(hostile);
  ASSERT_FALSE(upstream);
  for (const char c : upstream.error().text()) EXPECT_GE(c, ' ');
}

TEST(RouteWords, AreReadAsTheyAreWritten) {
  for (const Protocol protocol : {Protocol::http1, Protocol::h2c, Protocol::https}) {
    EXPECT_EQ(*parse_protocol(to_string(protocol)), protocol);
  }
  for (const RouteState state : {RouteState::live, RouteState::starting, RouteState::stopped}) {
    EXPECT_EQ(*parse_route_state(to_string(state)), state);
  }
  EXPECT_FALSE(parse_protocol("HTTP1"));
  EXPECT_FALSE(parse_protocol(""));
  EXPECT_FALSE(parse_route_state("dead"));
}

}  // namespace
}  // namespace hedge::router
