#include "router/route_watcher.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace hedge::router {
namespace {

Route route(std::string host, std::uint16_t port, std::string worktree = "") {
  Route out;
  out.host = std::move(host);
  out.upstream = TcpUpstream{"127.0.0.1", port};
  out.worktree = std::move(worktree);
  return out;
}

// What the store holds and how it fails, changed by the test while the watcher has the store open.
struct StoreState {
  LoadedRoutes contents;
  std::int64_t version = 1;
  bool fails_to_open = false;
  bool fails_to_load = false;
  bool was_replaced = false;
  int opened = 0;
  int loaded = 0;
  std::optional<ChangedRoutes> changes;  // absent: no account is kept
};

class FakeStore final : public RouteStore {
 public:
  explicit FakeStore(StoreState& state) : state_(state) {}
  Result<LoadedRoutes> load_all() override {
    ++state_.loaded;
    if (state_.fails_to_load) return Error(ErrorKind::corrupt, "page 3 is damaged");
    return state_.contents;
  }
  Result<std::optional<ChangedRoutes>> load_changes(std::int64_t mark) override {
    if (!state_.changes || mark == state_.changes->mark) return state_.changes;
    return std::exchange(state_.changes, ChangedRoutes{{}, {}, {}, state_.changes->mark});
  }
  Result<void> put(const Route&) override { return {}; }
  Result<bool> remove(std::string_view, std::string_view) override { return false; }
  Result<int> set_state(std::string_view, RouteState) override { return 0; }
  Result<std::int64_t> version() override {
    if (state_.was_replaced) return Error(ErrorKind::not_found, "replaced");
    return state_.version;
  }

 private:
  StoreState& state_;
};

class RouteWatcherTest : public testing::Test {
 protected:
  RouteWatcher::OpenStore opener() {
    return [this]() -> Result<std::unique_ptr<RouteStore>> {
      ++state_.opened;
      if (state_.fails_to_open) return Error(ErrorKind::permission, "no permission");
      state_.was_replaced = false;
      return std::unique_ptr<RouteStore>(std::make_unique<FakeStore>(state_));
    };
  }
  static std::uint16_t port_of(const RouteSnapshot& snapshot, std::string_view host) {
    const Route* found = snapshot.table->find(host);
    return found == nullptr ? 0 : std::get<TcpUpstream>(found->upstream).port;
  }

  StoreState state_;
};

TEST_F(RouteWatcherTest, MergesStoredAndStaticRoutes) {
  state_.contents.routes = {route("a", 1)};
  RouteWatcher watcher(opener(), {route("b", 2)});
  const RouteSnapshot snapshot = watcher.load();
  EXPECT_EQ(port_of(snapshot, "a"), 1);
  EXPECT_EQ(port_of(snapshot, "b"), 2);
  EXPECT_TRUE(snapshot.warnings.empty());
  EXPECT_FALSE(watcher.is_static("a"));
  EXPECT_TRUE(watcher.is_static("b"));
}

TEST_F(RouteWatcherTest, AStaticRouteHidesTheStoredOneOfItsHostAndSaysSo) {
  state_.contents.routes = {route("a", 1, "shop/a"), route("x.w", 5)};
  Route wildcard = route("w", 3);
  wildcard.match = HostMatch::exact_and_below;
  RouteWatcher watcher(opener(), {route("a", 2), wildcard});
  const RouteSnapshot snapshot = watcher.load();
  EXPECT_EQ(port_of(snapshot, "a"), 2);
  EXPECT_EQ(port_of(snapshot, "x.w"), 5) << "a wildcard hides nothing below it";
  ASSERT_EQ(snapshot.warnings.size(), 1U);
  EXPECT_NE(snapshot.warnings[0].find("route_conflict"), std::string::npos);
  EXPECT_NE(snapshot.warnings[0].find("shop/a"), std::string::npos);
}

TEST_F(RouteWatcherTest, NothingIsReadWhileNothingChanges) {
  RouteWatcher watcher(opener(), {});
  watcher.load();
  const int loaded = state_.loaded;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(watcher.load_if_changed());
  EXPECT_EQ(state_.loaded, loaded);
  EXPECT_EQ(state_.opened, 1);
}

TEST_F(RouteWatcherTest, AChangeOfTheStoreIsSeen) {
  RouteWatcher watcher(opener(), {});
  watcher.load();
  state_.contents.routes = {route("a", 1)};
  state_.version = 2;
  const auto changed = watcher.load_if_changed();
  ASSERT_TRUE(changed);
  EXPECT_EQ(port_of(*changed, "a"), 1);
  EXPECT_FALSE(watcher.load_if_changed());
}

TEST_F(RouteWatcherTest, AnUnreadableRecordIsNamed) {
  state_.contents.routes = {route("a", 1)};
  state_.contents.unreadable.push_back(
      {"broken.localhost", Error(ErrorKind::invalid_input, "upstream makes no sense")});
  RouteWatcher watcher(opener(), {});
  const RouteSnapshot snapshot = watcher.load();
  EXPECT_EQ(port_of(snapshot, "a"), 1);
  ASSERT_EQ(snapshot.warnings.size(), 1U);
  EXPECT_NE(snapshot.warnings[0].find("broken.localhost"), std::string::npos);
  EXPECT_NE(snapshot.warnings[0].find("makes no sense"), std::string::npos);
}

TEST_F(RouteWatcherTest, E01_AStoreThatCannotBeOpenedLeavesTheStaticRoutes) {
  state_.fails_to_open = true;
  RouteWatcher watcher(opener(), {route("b", 2)});
  const RouteSnapshot snapshot = watcher.load();
  EXPECT_EQ(port_of(snapshot, "b"), 2);
  ASSERT_EQ(snapshot.warnings.size(), 1U);
  EXPECT_NE(snapshot.warnings[0].find("no permission"), std::string::npos);
  EXPECT_EQ(watcher.store(), nullptr);
  EXPECT_FALSE(watcher.load_if_changed()) << "the same failure is told once";
  EXPECT_FALSE(watcher.load_if_changed());

  state_.fails_to_open = false;
  state_.contents.routes = {route("a", 1)};
  const auto repaired = watcher.load_if_changed();
  ASSERT_TRUE(repaired);
  EXPECT_EQ(port_of(*repaired, "a"), 1);
  EXPECT_TRUE(repaired->warnings.empty());
  EXPECT_NE(watcher.store(), nullptr);
}

TEST_F(RouteWatcherTest, AStoreThatBreaksLeavesTheRoutesReadBefore) {
  state_.contents.routes = {route("a", 1)};
  RouteWatcher watcher(opener(), {});
  watcher.load();
  state_.version = 2;
  state_.fails_to_load = true;
  const auto broken = watcher.load_if_changed();
  ASSERT_TRUE(broken);
  EXPECT_EQ(port_of(*broken, "a"), 1);
  ASSERT_EQ(broken->warnings.size(), 1U);
  EXPECT_NE(broken->warnings[0].find("damaged"), std::string::npos);
  EXPECT_FALSE(watcher.load_if_changed());
  state_.fails_to_load = false;
  EXPECT_TRUE(watcher.load_if_changed());
}

TEST_F(RouteWatcherTest, AReplacedStoreIsOpenedAgain) {
  RouteWatcher watcher(opener(), {});
  watcher.load();
  state_.was_replaced = true;
  state_.contents.routes = {route("a", 1)};
  const auto changed = watcher.load_if_changed();
  ASSERT_TRUE(changed);
  EXPECT_EQ(port_of(*changed, "a"), 1);
  EXPECT_EQ(state_.opened, 2);
}

TEST_F(RouteWatcherTest, OfAChangeOnlyWhatChangedIsRead) {
  state_.contents.routes = {route("a", 1), route("b", 2)};
  RouteWatcher watcher(opener(), {});
  watcher.load();
  state_.changes = ChangedRoutes{{route("a", 3), route("c", 4)}, {"b"}, {}, 7};
  const RouteSnapshot snapshot = watcher.load();
  EXPECT_EQ(port_of(snapshot, "a"), 3);
  EXPECT_EQ(port_of(snapshot, "b"), 0);
  EXPECT_EQ(port_of(snapshot, "c"), 4);
  EXPECT_EQ(state_.loaded, 1);
  EXPECT_EQ(watcher.load().table, snapshot.table) << "nothing more has changed";
}

TEST_F(RouteWatcherTest, AStaticRouteHidesAlsoWhatChangesBehindIt) {
  state_.contents.routes = {route("a", 1)};
  RouteWatcher watcher(opener(), {route("fixed", 9)});
  watcher.load();
  state_.changes = ChangedRoutes{{route("fixed", 3, "shop/a"), route("b", 4)}, {"a"}, {}, 7};
  const RouteSnapshot hidden = watcher.load();
  EXPECT_EQ(port_of(hidden, "fixed"), 9);
  EXPECT_EQ(port_of(hidden, "b"), 4);
  EXPECT_EQ(port_of(hidden, "a"), 0);
  ASSERT_EQ(hidden.warnings.size(), 1U);
  EXPECT_NE(hidden.warnings[0].find("shop/a"), std::string::npos);
  watcher.set_static_routes({});
  const RouteSnapshot shown = watcher.load();
  EXPECT_EQ(port_of(shown, "fixed"), 3);
  EXPECT_TRUE(shown.warnings.empty());
  watcher.set_static_routes({route("fixed", 8)});
  state_.changes = ChangedRoutes{{}, {"fixed"}, {}, 8};
  const RouteSnapshot gone = watcher.load();
  EXPECT_EQ(port_of(gone, "fixed"), 8) << "what goes is the stored one";
  EXPECT_TRUE(gone.warnings.empty());
}

TEST_F(RouteWatcherTest, ARecordThatBecomesUnreadableCostsItsRouteAndOneThatIsMendedComesBack) {
  state_.contents.routes = {route("a", 1)};
  RouteWatcher watcher(opener(), {});
  watcher.load();
  state_.changes = ChangedRoutes{{}, {"a"}, {{"a", Error(ErrorKind::invalid_input, "makes no sense")}}, 7};
  const RouteSnapshot broken = watcher.load();
  EXPECT_EQ(port_of(broken, "a"), 0);
  ASSERT_EQ(broken.warnings.size(), 1U);
  EXPECT_NE(broken.warnings[0].find("makes no sense"), std::string::npos);
  state_.changes = ChangedRoutes{{route("a", 2)}, {}, {}, 8};
  const RouteSnapshot mended = watcher.load();
  EXPECT_EQ(port_of(mended, "a"), 2);
  EXPECT_TRUE(mended.warnings.empty());
}

TEST_F(RouteWatcherTest, NewStaticRoutesTakeEffectWithTheNextLoad) {
  RouteWatcher watcher(opener(), {route("b", 2)});
  watcher.load();
  watcher.set_static_routes({route("c", 3)});
  const RouteSnapshot snapshot = watcher.load();
  EXPECT_EQ(port_of(snapshot, "b"), 0);
  EXPECT_EQ(port_of(snapshot, "c"), 3);
}

}  // namespace
}  // namespace hedge::router
