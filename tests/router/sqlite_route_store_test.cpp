#include "router/sqlite_route_store.h"

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/router/sqlite_store_fixture.h"

namespace hedge::router {
namespace {

Route route(std::string host, std::string worktree, std::string upstream = "tcp:127.0.0.1:3000") {
  Route out;
  out.host = std::move(host);
  out.worktree = std::move(worktree);
  out.upstream = *parse_upstream(upstream);
  return out;
}

class SqliteRouteStoreTest : public SqliteStoreFixture {
 protected:
  std::vector<std::string> hosts(RouteStore& store) {
    const auto loaded = store.load_all();
    std::vector<std::string> out;
    if (!loaded) {
      ADD_FAILURE() << loaded.error().to_string();
      return out;
    }
    for (const Route& found : loaded->routes) out.push_back(found.host);
    return out;
  }
};

using Hosts = std::vector<std::string>;

TEST_F(SqliteRouteStoreTest, KeepsEveryFieldOfARoute) {
  Route written = route("beta.localhost", "shop/beta", "docker:com.example.a=b,c=d:8000");
  written.match = HostMatch::exact_and_below;
  written.protocol = Protocol::https;
  written.state = RouteState::stopped;
  ASSERT_TRUE(open()->put(written));
  const auto loaded = open()->load_all();
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->routes.size(), 1U);
  const Route& read = loaded->routes.front();
  EXPECT_EQ(read.host, "beta.localhost");
  EXPECT_EQ(read.match, HostMatch::exact_and_below);
  EXPECT_EQ(to_string(read.upstream), "docker:com.example.a=b,c=d:8000");
  EXPECT_EQ(read.protocol, Protocol::https);
  EXPECT_EQ(read.worktree, "shop/beta");
  EXPECT_EQ(read.state, RouteState::stopped);
}

TEST_F(SqliteRouteStoreTest, E16_StoresHostsInLowerCase) {
  const auto store = open();
  ASSERT_TRUE(store->put(route("ALPHA.Localhost.", "")));
  EXPECT_EQ(hosts(*store), Hosts{"alpha.localhost"});
  EXPECT_EQ(*store->remove("Alpha.LOCALHOST", ""), true);
  EXPECT_EQ(hosts(*store), Hosts{});
}

TEST_F(SqliteRouteStoreTest, RefusesAHostThatIsNone) {
  EXPECT_EQ(open()->put(route("not a host", "")).error().id(), "host_invalid");
}

TEST_F(SqliteRouteStoreTest, PutReplacesTheOwnersRoute) {
  const auto store = open();
  ASSERT_TRUE(store->put(route("a", "shop/a", "3000")));
  ASSERT_TRUE(store->put(route("a", "shop/a", "4000")));
  const auto loaded = store->load_all();
  ASSERT_EQ(loaded->routes.size(), 1U);
  EXPECT_EQ(to_string(loaded->routes.front().upstream), "tcp:127.0.0.1:4000");
}

struct Claim {
  std::string owner;
  std::string claimant;
  std::string named;  // who the message says has the host
};

TEST_F(SqliteRouteStoreTest, RefusesASecondClaimOnAHost) {
  const std::vector<Claim> cases = {{"shop/a", "shop/b", "worktree shop/a"},
                                    {"shop/a", "", "worktree shop/a"},
                                    {"", "shop/a", "hand-made"}};
  int number = 0;
  for (const Claim& row : cases) {
    const std::string host = "host" + std::to_string(++number) + ".localhost";
    const auto store = open();
    ASSERT_TRUE(store->put(route(host, row.owner)));
    const auto second = store->put(route(host, row.claimant, "4000"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind(), ErrorKind::conflict);
    EXPECT_EQ(second.error().id(), "route_conflict");
    EXPECT_NE(second.error().text().find(row.named), std::string::npos) << second.error().text();
    const auto removed = store->remove(host, row.claimant);
    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error().id(), "route_conflict");
  }
  EXPECT_EQ(hosts(*open()).size(), cases.size()) << "the owners keep their routes";
}

TEST_F(SqliteRouteStoreTest, RemovingTheAbsentIsSuccess) {
  const auto store = open();
  EXPECT_EQ(*store->remove("nobody.localhost", "shop/a"), false);
}

TEST_F(SqliteRouteStoreTest, SetsTheStateOfAllRoutesOfAWorktree) {
  const auto store = open();
  ASSERT_TRUE(store->put(route("a", "shop/a")));
  ASSERT_TRUE(store->put(route("api.a", "shop/a")));
  ASSERT_TRUE(store->put(route("b", "shop/b")));
  EXPECT_EQ(*store->set_state("shop/a", RouteState::starting), 2);
  EXPECT_EQ(*store->set_state("shop/none", RouteState::stopped), 0);
  const auto loaded = store->load_all();
  for (const Route& found : loaded->routes) {
    EXPECT_EQ(found.state, found.worktree == "shop/a" ? RouteState::starting : RouteState::live)
        << found.host;
  }
}

TEST_F(SqliteRouteStoreTest, OneUnreadableRecordCostsOneRoute) {
  const auto store = open();
  for (const std::string host : {"a", "b", "c", "d", "e", "f"}) ASSERT_TRUE(store->put(route(host, "")));
  run_sql("UPDATE routes SET upstream = 'nonsense' WHERE host = 'a'");
  run_sql("UPDATE routes SET protocol = 'spdy' WHERE host = 'b'");
  run_sql("UPDATE routes SET state = x'ff00' WHERE host = 'c'");
  run_sql("UPDATE routes SET upstream = NULL, host = 'bad host' WHERE host = 'no such host'");
  run_sql("UPDATE routes SET host = 'bad host' WHERE host = 'd'");
  const auto loaded = store->load_all();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(hosts(*store), (Hosts{"e", "f"}));
  ASSERT_EQ(loaded->unreadable.size(), 4U);
  EXPECT_EQ(loaded->unreadable[0].host, "a");
  EXPECT_EQ(loaded->unreadable[1].host, "b");
  EXPECT_EQ(loaded->unreadable[2].host, "bad host");
  EXPECT_EQ(loaded->unreadable[3].host, "c");
  for (const UnreadableRoute& record : loaded->unreadable) EXPECT_FALSE(record.reason.text().empty());
  EXPECT_EQ(*store->remove("bad host", ""), true) << "an unreadable record can be removed";
}

TEST_F(SqliteRouteStoreTest, ALabelThatIsNotUtf8CostsItsRouteWhenItIsLoaded) {
  const auto store = open();
  for (const std::string host : {"a", "b"}) ASSERT_TRUE(store->put(route(host, "")));
  run_sql("UPDATE routes SET upstream = CAST(x'646f636b65723a613dff3a3830' AS TEXT) WHERE host = 'a'");
  const auto loaded = store->load_all();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(hosts(*store), Hosts{"b"});
  ASSERT_EQ(loaded->unreadable.size(), 1U);
  EXPECT_NE(loaded->unreadable[0].reason.text().find("labels are UTF-8"), std::string::npos);
}

TEST_F(SqliteRouteStoreTest, ANewerFileIsReadAndNotWritten) {
  ASSERT_TRUE(open()->put(route("a", "")));
  run_sql("ALTER TABLE routes ADD COLUMN weight INTEGER; PRAGMA user_version = 3");
  const auto store = open();
  EXPECT_EQ(hosts(*store), Hosts{"a"});
  EXPECT_EQ(store->put(route("b", "")).error().id(), "state_newer");
  EXPECT_EQ(store->remove("a", "").error().id(), "state_newer");
  EXPECT_EQ(store->set_state("", RouteState::stopped).error().id(), "state_newer");
  EXPECT_EQ(hosts(*store), Hosts{"a"});
}

TEST_F(SqliteRouteStoreTest, AFileThatIsNoDatabaseIsAnError) {
  std::ofstream(path()) << std::string(8192, 'x');
  const auto store = SqliteRouteStore::open(path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().id(), "state_unreadable");
  EXPECT_NE(store.error().text().find("routes.db"), std::string::npos);
}

TEST_F(SqliteRouteStoreTest, AMissingDirectoryIsAnError) {
  const auto store = SqliteRouteStore::open(directory_ / "none/routes.db");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().id(), "state_unreadable");
}

TEST_F(SqliteRouteStoreTest, AChangeWaitsForAnotherWriterAsLongAsItWasToldTo) {
  constexpr std::chrono::milliseconds kNoWait{0};
  ASSERT_TRUE(open()->put(route("a", "")));
  auto impatient = SqliteRouteStore::open(path(), kNoWait);
  ASSERT_TRUE(impatient) << impatient.error().to_string();
  auto other = sqlite::Database::open(path(), sqlite::OpenMode::read_write_create, sqlite::Durability::normal);
  ASSERT_TRUE(other && other->execute("BEGIN IMMEDIATE"));
  const auto refused = (*impatient)->put(route("b", ""));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::busy);
  EXPECT_EQ(refused.error().id(), "busy");
  EXPECT_EQ((*impatient)->remove("a", "").error().kind(), ErrorKind::busy);
  ASSERT_TRUE(other->execute("COMMIT"));
  EXPECT_TRUE((*impatient)->put(route("b", "")));
}

TEST_F(SqliteRouteStoreTest, TheFileIsPrivate) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(open()->put(route("a", "")));
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(SqliteRouteStoreTest, TheVersionTellsOfOthersChangesOnly) {
  const auto mine = open();
  const auto other = open();
  const auto start = *mine->version();
  EXPECT_EQ(*mine->version(), start);
  ASSERT_TRUE(mine->put(route("a", "")));
  EXPECT_EQ(*mine->version(), start);
  ASSERT_TRUE(other->put(route("b", "")));
  EXPECT_NE(*mine->version(), start);
}

TEST_F(SqliteRouteStoreTest, AReplacedFileIsNoticed) {
  const auto store = open();
  ASSERT_TRUE(store->version());
  std::filesystem::remove(path());
  ASSERT_FALSE(store->version());
  EXPECT_EQ(store->version().error().kind(), ErrorKind::not_found);
  ASSERT_TRUE(open()->put(route("a", "")));
  EXPECT_FALSE(store->version()) << "another file of the same name is not the one that is open";
}

TEST_F(SqliteRouteStoreTest, ManyWritersLoseNothing) {
  constexpr int kWriters = 4;
  constexpr int kRoutes = 25;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([this, writer] {
      const auto store =
          SqliteRouteStore::open(path());  // also creates the table at the same time as the others
      ASSERT_TRUE(store) << store.error().to_string();
      for (int i = 0; i < kRoutes; ++i) {
        const std::string host = "w" + std::to_string(writer) + "-" + std::to_string(i);
        const auto stored = (*store)->put(route(host, ""));
        ASSERT_TRUE(stored) << stored.error().to_string();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(hosts(*open()).size(), static_cast<std::size_t>(kWriters) * kRoutes);
}

TEST_F(SqliteRouteStoreTest, SurvivesKillAtAnyMoment) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto store = SqliteRouteStore::open(path());
    for (int i = 0; store; ++i) {
      if (!(*store)->put(route("k" + std::to_string(i), "", "unix:/k" + std::to_string(i)))) break;
    }
    ::_exit(1);
  }
  // In the middle of its work: after some routes, at no particular point of the next.
  for (int i = 0; i < 2000; ++i) {
    const auto store = SqliteRouteStore::open(path());
    if (store && hosts(**store).size() >= 5) break;
    std::this_thread::yield();
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the writer was still writing";
  const auto store = open();
  const auto loaded = store->load_all();
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->unreadable.empty());
  EXPECT_GE(loaded->routes.size(), 5U);
  ASSERT_TRUE(store->put(route("after", "")));
}

// In a child with a mount namespace of its own: a disk of 256 KiB.
int fill_small_disk(const std::filesystem::path& mount_point) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (::mount("none", mount_point.c_str(), "tmpfs", 0, "size=256k") != 0) return 77;
  const auto store = SqliteRouteStore::open(mount_point / "routes.db");
  if (!store) return 1;
  if (!(*store)->put(route("kept.localhost", "shop/a"))) return 2;
  std::ofstream filler(mount_point / "filler", std::ios::binary);
  while (filler.write(std::string(4096, 'x').data(), 4096).flush()) {
  }
  // SQLite still has room in the pages that it has; then every change is refused with the same words.
  Result<void> refused;
  for (int i = 0; refused && i < 1000; ++i) {
    refused =
        (*store)->put(route("new" + std::to_string(i) + ".localhost", "", "unix:/" + std::string(100, 'p')));
  }
  if (refused || refused.error().id() != "disk_full" || refused.error().kind() != ErrorKind::no_space)
    return 3;
  if ((*store)->put(route("kept.localhost", "shop/a", "unix:/" + std::string(100, 'q')))) return 4;
  filler.close();
  if (!remove_file(mount_point / "filler")) return 5;
  // Nothing was half done, and it works again as soon as there is room.
  const auto loaded = (*store)->load_all();
  if (!loaded || !loaded->unreadable.empty()) return 6;
  for (const Route& found : loaded->routes) {
    if (found.host == "kept.localhost" && to_string(found.upstream) == "tcp:127.0.0.1:3000") {
      return (*store)->put(route("again.localhost", "")) ? 0 : 7;
    }
  }
  return 8;
}

TEST_F(SqliteRouteStoreTest, AFullDiskIsNamedAndHarmsNothing) {
  const std::filesystem::path mount_point = directory_ / "disk";
  std::filesystem::create_directory(mount_point);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(fill_small_disk(mount_point));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this system does not let a test mount a small disk";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace hedge::router
