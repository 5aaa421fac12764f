#include "router/route_table.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hedge::router {
namespace {

Route route(std::string host, std::uint16_t port, HostMatch match = HostMatch::exact) {
  Route out;
  out.host = std::move(host);
  out.match = match;
  out.upstream = TcpUpstream{"127.0.0.1", port};
  return out;
}

Route wildcard(std::string host, std::uint16_t port) {
  return route(std::move(host), port, HostMatch::exact_and_below);
}

// The port of the route that answers; 0 if none does.
std::uint16_t port_of(const RouteTable& table, std::string_view host) {
  const Route* found = table.find(host);
  return found == nullptr ? 0 : std::get<TcpUpstream>(found->upstream).port;
}

struct Lookup {
  std::string host;
  std::uint16_t port;
};

TEST(RouteTable, FindsExactlyTheRouteOfTheHost) {
  const auto table = RouteTable::build({
      route("alpha.localhost", 1),
      route("api.alpha.localhost", 2),
      wildcard("beta.localhost", 3),
      route("exact.beta.localhost", 4),
      wildcard("deep.beta.localhost", 5),
      route("localhost", 6),
  });
  const std::vector<Lookup> cases = {
      {"alpha.localhost", 1},
      {"ALPHA.LocalHost", 1},
      {"api.alpha.localhost", 2},
      {"x.alpha.localhost", 0},  // a parent that is not a wildcard never answers for a child
      {"x.api.alpha.localhost", 0},
      {"beta.localhost", 3},  // a wildcard answers for its own name
      {"x.beta.localhost", 3},
      {"x.y.z.beta.localhost", 3},  // at any depth
      {"X.BETA.localhost", 3},
      {"exact.beta.localhost", 4},  // exact beats wildcard
      {"below.exact.beta.localhost", 3},
      {"deep.beta.localhost", 5},
      {"x.deep.beta.localhost", 5},  // the longest wildcard
      {"xbeta.localhost", 0},        // a label, not a suffix
      {"x.localhost", 0},
      {"localhost", 6},
      {"", 0},
      {".", 0},
      {".beta.localhost", 3},
      {"beta.localhost.", 0},  // the caller drops the dot
      {"unknown", 0},
      {"\xff\xfe", 0},
  };
  for (const Lookup& row : cases) EXPECT_EQ(port_of(*table, row.host), row.port) << row.host;
}

TEST(RouteTable, AnEmptyTableAnswersNothing) {
  const auto table = RouteTable::build({});
  EXPECT_EQ(table->find("localhost"), nullptr);
  EXPECT_EQ(table->find(""), nullptr);
  EXPECT_EQ(table->size(), 0U);
}

TEST(RouteTable, OfTwoRoutesWithOneHostTheLaterWins) {
  const auto table = RouteTable::build({route("a", 1), wildcard("b", 2), route("a", 3), wildcard("b", 4)});
  EXPECT_EQ(port_of(*table, "a"), 3);
  EXPECT_EQ(port_of(*table, "x.b"), 4);
}

TEST(RouteTable, AnExactRouteBesideAWildcardOfTheSameHostAnswersForTheHostAlone) {
  const auto table = RouteTable::build({route("a.localhost", 1), wildcard("a.localhost", 2)});
  EXPECT_EQ(port_of(*table, "a.localhost"), 1);
  EXPECT_EQ(port_of(*table, "x.a.localhost"), 2);
}

TEST(RouteTable, HostsAreBoundedAt253Bytes) {
  std::string host;
  for (int i = 0; i < 125; ++i) host += "a.";
  host += "abc";
  ASSERT_EQ(host.size(), 253U);
  const auto table = RouteTable::build({wildcard("abc", 1), route(host, 2)});
  EXPECT_EQ(port_of(*table, host), 2);
  EXPECT_EQ(port_of(*table, "b" + host.substr(1)), 1) << "126 labels above the wildcard";
  EXPECT_EQ(port_of(*table, "a" + host), 0) << "254 bytes are no hostname";
  EXPECT_EQ(port_of(*table, std::string(100000, 'a')), 0);
  EXPECT_EQ(port_of(*table, std::string(253, '.')), 0);
}

TEST(RouteTable, FindsEachOf100000RoutesAndNoOther) {
  constexpr int kCount = 100000;
  std::vector<Route> routes;
  for (int i = 0; i < kCount; ++i) {
    const auto port = static_cast<std::uint16_t>(1 + i % 60000);
    routes.push_back(route("wt-" + std::to_string(i) + ".shop.localhost", port,
                           i % 2 == 0 ? HostMatch::exact : HostMatch::exact_and_below));
  }
  const auto table = RouteTable::build(std::move(routes));
  for (int i = 0; i < kCount; ++i) {
    const std::string host = "wt-" + std::to_string(i) + ".shop.localhost";
    const Route* found = table->find(host);
    ASSERT_NE(found, nullptr) << host;
    ASSERT_EQ(found->host, host);
    const Route* below = table->find("x." + host);
    ASSERT_EQ(below != nullptr, i % 2 == 1) << host;
    ASSERT_EQ(table->find("no" + host), nullptr) << host;
  }
}

TEST(RouteTable, AFollowingTableHasTheChangesAndTheOneBeforeStaysAsItWas) {
  const auto before = RouteTable::build({route("a", 1), wildcard("b", 2), route("c", 3), wildcard("c", 4)});
  const auto after = before->with({{route("a", 5), route("b", 6), wildcard("d", 7)}, {"c", "never-there"}});
  const std::vector<Lookup> cases = {{"a", 5}, {"b", 6}, {"x.b", 0}, {"c", 0}, {"x.c", 0}, {"x.d", 7}};
  for (const Lookup& row : cases) EXPECT_EQ(port_of(*after, row.host), row.port) << row.host;
  EXPECT_EQ(after->size(), 3U);
  const std::vector<Lookup> old = {{"a", 1}, {"x.b", 2}, {"c", 3}, {"x.c", 4}, {"x.d", 0}};
  for (const Lookup& row : old) EXPECT_EQ(port_of(*before, row.host), row.port) << row.host;
  EXPECT_EQ(before->size(), 4U);
  const auto emptied = after->with({{}, {"a", "b", "d"}});
  EXPECT_EQ(emptied->size(), 0U);
  EXPECT_EQ(port_of(*emptied, "x.d"), 0);
}

TEST(RouteTable, KnowsForWhichHostARouteWasMade) {
  const auto table = RouteTable::build({route("a", 1), wildcard("b", 2)});
  ASSERT_NE(table->find_made_for("a"), nullptr);
  ASSERT_NE(table->find_made_for("b"), nullptr);
  EXPECT_EQ(table->find_made_for("x.b"), nullptr) << "served, but made for its parent";
}

TEST(RouteTable, ListsItsRoutesByHost) {
  const auto table = RouteTable::build({route("c", 1), wildcard("a", 2), route("b", 3)});
  std::string order;
  for (const Route* one : routes_by_host(*table)) order += one->host;
  EXPECT_EQ(order, "abc");
}

std::vector<Route> many_routes(int count) {
  std::vector<Route> routes;
  for (int i = 0; i < count; ++i) routes.push_back(route("wt-" + std::to_string(i) + ".shop.localhost", 1));
  return routes;
}

// Of 100,000 routes one change copies those of its shard, and a comparison looks at no others.
TEST(RouteTable, AChangeAmong100000RoutesTouchesFew) {
  const auto before = RouteTable::build(many_routes(100000));
  const auto after = before->with({{route("new.shop.localhost", 2)}, {}});
  EXPECT_EQ(after->size(), 100001U);
  EXPECT_EQ(after->find("wt-77.shop.localhost")->host, "wt-77.shop.localhost");
  int touched = 0;
  bool is_new_there = false;
  after->for_each_not_shared_with(*before, [&](const Route& one) {
    ++touched;
    is_new_there = is_new_there || one.host == "new.shop.localhost";
  });
  EXPECT_TRUE(is_new_there);
  EXPECT_LT(touched, 400) << "about a hundred of 100,000";
}

}  // namespace
}  // namespace hedge::router
