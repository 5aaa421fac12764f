#include "proxy/control/event_feed.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proxy/control/route_changes.h"

namespace hedge::proxy {
namespace {

using nlohmann::json;

TEST(EventFeed, EveryListenerHearsWhatHappensWhileItListens) {
  EventFeed feed;
  int woken = 0;
  EventFeed::Subscription first(feed, [&woken] { ++woken; });
  feed.publish("one", "{}");
  EXPECT_EQ(first.take(), "event: one\ndata: {}\n\n");
  EXPECT_EQ(first.take(), "");
  {
    EventFeed::Subscription second(feed, [] {});
    feed.publish("two", "[1]");
    EXPECT_EQ(second.take(), "event: two\ndata: [1]\n\n");
    EXPECT_EQ(feed.listeners(), 2U);
  }
  feed.publish("three", "{}");
  EXPECT_EQ(first.take(), "event: two\ndata: [1]\n\nevent: three\ndata: {}\n\n");
  EXPECT_EQ(woken, 3);
}

TEST(EventFeed, OneThatDoesNotListenIsLetGoAndTheOthersAreNot) {
  EventFeed feed;
  EventFeed::Subscription slow(feed, [] {});
  EventFeed::Subscription quick(feed, [] {});
  const std::string large(EventFeed::kMostPendingBytes / 4, 'x');
  for (int i = 0; i < 5; ++i) {
    feed.publish("large", large);
    EXPECT_FALSE(quick.take().empty());
  }
  EXPECT_TRUE(slow.ended());
  EXPECT_LE(slow.take().size(), EventFeed::kMostPendingBytes);
  EXPECT_FALSE(quick.ended());
}

TEST(EventFeed, ItsEndEndsEveryListener) {
  EventFeed feed;
  bool woken = false;
  const EventFeed::Subscription listener(feed, [&woken] { woken = true; });
  feed.close();
  EXPECT_TRUE(listener.ended());
  EXPECT_TRUE(woken);
}

router::Route route(const std::string& host, const std::string& port = "1") {
  router::Route out;
  out.host = host;
  out.upstream = *router::parse_upstream("tcp:127.0.0.1:" + port);
  return out;
}

TEST(RouteChanges, AreToldByKind) {
  const auto before = router::RouteTable::build({route("stays"), route("goes"), route("moves")});
  const auto after = router::RouteTable::build({route("moves", "2"), route("comes"), route("stays")});
  EXPECT_EQ(json::parse(describe_changes(*before, *after)), json({{"routes", 3},
                                                                  {"added", {"comes"}},
                                                                  {"changed", {"moves"}},
                                                                  {"removed", {"goes"}},
                                                                  {"complete", true}}));
  EXPECT_EQ(describe_changes(*after, *after), "");
}

TEST(RouteChanges, NameAtMostAHundredHosts) {
  std::vector<router::Route> many;
  for (int i = 0; i < 150; ++i) many.push_back(route("h" + std::to_string(i)));
  const json told =
      json::parse(describe_changes(*router::RouteTable::build({}), *router::RouteTable::build(many)));
  EXPECT_EQ(told.at("added").size(), kMostHostsInEvent);
  EXPECT_FALSE(told.at("complete").get<bool>());
  EXPECT_EQ(told.at("routes"), 150);
}

}  // namespace
}  // namespace hedge::proxy
