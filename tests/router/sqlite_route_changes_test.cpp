// The account that a store of routes keeps of its changes.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "router/sqlite_route_store.h"
#include "tests/router/sqlite_store_fixture.h"

namespace hedge::router {
namespace {

Route route(std::string host, std::string worktree) {
  Route out;
  out.host = std::move(host);
  out.worktree = std::move(worktree);
  out.upstream = TcpUpstream{"127.0.0.1", 3000};
  return out;
}

class SqliteRouteChangesTest : public SqliteStoreFixture {};

// What the changes name, as "put", "-removed" and "?unreadable".
std::string names_of(const ChangedRoutes& changes) {
  std::string out;
  for (const Route& one : changes.put) out += one.host + " ";
  for (const std::string& host : changes.removed) out += "-" + host + " ";
  for (const UnreadableRoute& one : changes.unreadable) out += "?" + one.host + " ";
  return out;
}

TEST_F(SqliteRouteChangesTest, TellsWhatAnybodyHasChangedSinceAMark) {
  const auto store = open();
  for (const std::string host : {"a", "b", "c"}) ASSERT_TRUE(store->put(route(host, "shop/x")));
  const std::int64_t mark = store->load_all()->mark;
  EXPECT_EQ(names_of(**store->load_changes(mark)), "") << "nothing yet";
  ASSERT_TRUE(store->put(route("d", "")));
  ASSERT_TRUE(open()->remove("a", "shop/x")) << "another connection";
  const auto first = *store->load_changes(mark);
  ASSERT_TRUE(first);
  EXPECT_EQ(names_of(*first), "d -a ");
  run_sql("UPDATE routes SET upstream = 'nonsense' WHERE host = 'b'");
  run_sql("UPDATE routes SET host = 'e' WHERE host = 'c'");
  const auto second = *store->load_changes(first->mark);
  ASSERT_TRUE(second);
  EXPECT_EQ(names_of(*second), "e -b -c ?b ");
  EXPECT_EQ(names_of(**store->load_changes(second->mark)), "");
  ASSERT_EQ(*store->set_state("shop/x", RouteState::stopped), 2);
  EXPECT_EQ(names_of(**store->load_changes(second->mark)), "e -b ?b ");
}

TEST_F(SqliteRouteChangesTest, OfALongTimeAgoItNoLongerKnowsWhatHasChanged) {
  const auto store = open();
  ASSERT_TRUE(store->put(route("a", "shop/x")));
  const std::int64_t mark = store->load_all()->mark;
  run_sql(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) "
      "INSERT INTO routes SELECT 'h' || i, 0, 'tcp:127.0.0.1:1', 'http1', '', 'live' FROM n");
  EXPECT_FALSE(*store->load_changes(mark));
  EXPECT_FALSE(*store->load_changes(mark + 1000000)) << "a mark of another file";
  const auto all = store->load_all();
  EXPECT_EQ(all->routes.size(), 6001U);
  EXPECT_EQ(names_of(**store->load_changes(all->mark)), "");
  auto database = sqlite::Database::open(path(), sqlite::OpenMode::read_only, sqlite::Durability::normal);
  auto rows = database->prepare("SELECT count(*) FROM route_changes");
  ASSERT_TRUE(rows && *rows->step());
  EXPECT_LE(rows->number(0), 4096 + 1024) << "what is kept is bounded";
}

TEST_F(SqliteRouteChangesTest, AFileOfTheVersionBeforeIsTakenOver) {
  run_sql(
      "CREATE TABLE routes (host TEXT NOT NULL PRIMARY KEY, wildcard INTEGER NOT NULL, upstream TEXT NOT NULL, "
      "protocol TEXT NOT NULL, worktree TEXT NOT NULL, state TEXT NOT NULL) WITHOUT ROWID; "
      "INSERT INTO routes VALUES ('old', 0, 'tcp:127.0.0.1:1', 'http1', '', 'live'); PRAGMA user_version = 1");
  const auto store = open();
  const auto loaded = store->load_all();
  ASSERT_EQ(loaded->routes.size(), 1U);
  EXPECT_EQ(loaded->routes.front().host, "old");
  ASSERT_TRUE(store->put(route("new", "")));
  EXPECT_EQ(names_of(**store->load_changes(loaded->mark)), "new ");
}

}  // namespace
}  // namespace hedge::router
