#include "proxy/control/control_thread.h"

#include <atomic>
#include <csignal>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/proxy/control/control_thread_fixture.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using router::PokeResult;
using router::Route;
using test::ControlThreadTest;
using test::route;

TEST_F(ControlThreadTest, TheFirstTableIsThereBeforeStartReturns) {
  store(route("stored.localhost"));
  options_.static_routes = {route("fixed.localhost")};
  start();
  EXPECT_TRUE(edge_.has("stored.localhost"));
  EXPECT_TRUE(edge_.has("fixed.localhost"));
}

TEST_F(ControlThreadTest, TheStatusComesFromTheEdge) {
  options_.static_routes = {route("fixed.localhost")};
  start();
  const auto status = client().fetch_status();
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(status->pid, ::getpid());
  EXPECT_EQ(status->routes, 1U);
  EXPECT_EQ(status->listeners, (std::vector<router::EdgeListener>{{"http", "127.0.0.1", 8080}}));
  EXPECT_EQ(status->state_directory, directory_.path().string());
  EXPECT_TRUE(status->warnings.empty());
}

TEST_F(ControlThreadTest, E01_AnUnreadableStoreStopsNothing) {
  std::ofstream(store_path()) << std::string(8192, 'x');
  options_.static_routes = {route("fixed.localhost")};
  start();
  EXPECT_TRUE(edge_.has("fixed.localhost"));
  const auto status = client().fetch_status();
  ASSERT_TRUE(status);
  ASSERT_EQ(status->warnings.size(), 1U);
  EXPECT_NE(status->warnings[0].find("routes.db"), std::string::npos) << status->warnings[0];
  EXPECT_EQ(request("PUT", "/v1/routes/a.localhost", R"({"upstream": "1"})")->status, 503U);
  // Repaired, it is read with the next poke.
  std::filesystem::remove(store_path());
  store(route("stored.localhost"));
  EXPECT_EQ(*client().poke(), PokeResult::delivered);
  EXPECT_TRUE(edge_.has("stored.localhost"));
  EXPECT_TRUE(client().fetch_status()->warnings.empty());
}

TEST_F(ControlThreadTest, TheStatusWarnsOfWhatIsWrongWithThePublishedRoutes) {
  options_.static_routes = {route("fixed.localhost")};
  options_.more_warnings = [](const router::RouteTable& table) {
    return std::vector<std::string>{"no TLS for " + router::routes_by_host(table).front()->host};
  };
  start();
  EXPECT_EQ(client().fetch_status()->warnings, (std::vector<std::string>{"no TLS for fixed.localhost"}));
}

TEST_F(ControlThreadTest, OneUnreadableRecordIsNamed) {
  store(route("good.localhost"));
  store(route("broken.localhost"));
  {
    auto database =
        sqlite::Database::open(store_path(), sqlite::OpenMode::read_write_create, sqlite::Durability::normal);
    ASSERT_TRUE(database->execute("UPDATE routes SET upstream = '?' WHERE host = 'broken.localhost'"));
  }
  start();
  EXPECT_TRUE(edge_.has("good.localhost"));
  EXPECT_FALSE(edge_.has("broken.localhost"));
  const auto status = client().fetch_status();
  ASSERT_EQ(status->warnings.size(), 1U);
  EXPECT_NE(status->warnings[0].find("broken.localhost"), std::string::npos);
}

TEST_F(ControlThreadTest, APokeIsAnsweredWhenTheRoutesAreInForce) {
  start();
  store(route("new.localhost"));
  EXPECT_FALSE(edge_.has("new.localhost"));
  EXPECT_EQ(*client().poke(), PokeResult::delivered);
  EXPECT_TRUE(edge_.has("new.localhost"));
}

TEST(ControlOptionsDefaults, AChangeThatNobodyToldIsSeenWithinASecond) {
  EXPECT_LT(ControlOptions().watch_interval, 1s);
}

TEST_F(ControlThreadTest, AChangeThatNobodyToldIsSeen) {
  options_.watch_interval = 5ms;
  start();
  store(route("new.localhost"));
  EXPECT_TRUE(edge_.wait_for_route("new.localhost"));
  {
    auto opened = router::SqliteRouteStore::open(store_path());
    ASSERT_TRUE((*opened)->remove("new.localhost", ""));
  }
  EXPECT_TRUE(edge_.wait_for_route("new.localhost", false));
  // Also when the whole file is another one.
  std::filesystem::remove(store_path());
  store(route("other.localhost"));
  EXPECT_TRUE(edge_.wait_for_route("other.localhost"));
}

TEST_F(ControlThreadTest, RoutesCanBeChangedThroughTheSocket) {
  start();
  EXPECT_EQ(request("PUT", "/v1/routes/a.localhost", R"({"upstream": "3000"})")->status, 200U);
  EXPECT_TRUE(edge_.has("a.localhost"));
  EXPECT_EQ(client().fetch_routes()->size(), 1U);
  EXPECT_EQ(request("DELETE", "/v1/routes/a.localhost")->status, 204U);
  EXPECT_FALSE(edge_.has("a.localhost"));
  EXPECT_EQ(request("GET", "/v1/nothing")->status, 404U);
  EXPECT_EQ(request("GET", "/v1/nothing")->header("Content-Type"), "application/problem+json");
}

TEST(ControlOptionsDefaults, AnotherWriterDoesNotKeepTheControlThreadForLong) {
  EXPECT_LE(kStoreBusyLimit, std::chrono::milliseconds(100));
}

TEST_F(ControlThreadTest, AChangeThatFindsTheStoreBusyIsToldSo) {
  start();
  auto other = sqlite::Database::open(store_path(), sqlite::OpenMode::read_write_create, sqlite::Durability::normal);
  ASSERT_TRUE(other) << other.error().to_string();
  ASSERT_TRUE(other->execute("BEGIN IMMEDIATE"));
  const auto refused = request("PUT", "/v1/routes/a.localhost", R"({"upstream": "3000"})");
  ASSERT_TRUE(refused) << refused.error().to_string();
  EXPECT_EQ(refused->status, 503U);
  EXPECT_NE(refused->body.find("\"id\":\"busy\""), std::string::npos) << refused->body;
  EXPECT_EQ(request("DELETE", "/v1/routes/a.localhost")->status, 503U);
  EXPECT_EQ(request("GET", "/v1/routes")->status, 200U) << "reading waits for nobody";
  ASSERT_TRUE(other->execute("COMMIT"));
  EXPECT_EQ(request("PUT", "/v1/routes/a.localhost", R"({"upstream": "3000"})")->status, 200U);
}

TEST_F(ControlThreadTest, ASighupReadsTheStaticRoutesAgain) {
  std::atomic<bool> is_broken = false;
  options_.static_routes = {route("old.localhost")};
  options_.reload = [&is_broken]() -> Result<proxy::ReloadedSettings> {
    if (is_broken)
      return Error(ErrorKind::invalid_input, "edge.toml:3:1: nonsense").with_id("config_invalid");
    return proxy::ReloadedSettings{{route("new.localhost")}, {"workers takes a new process"}};
  };
  start();
  ASSERT_EQ(::raise(SIGHUP), 0);
  EXPECT_TRUE(edge_.wait_for_route("new.localhost"));
  EXPECT_FALSE(edge_.has("old.localhost"));
  EXPECT_EQ(client().fetch_status()->warnings, std::vector<std::string>{"workers takes a new process"});

  is_broken = true;
  const int before = edge_.published();
  ASSERT_EQ(::raise(SIGHUP), 0);
  // Two questions, because the first may overtake the signal; each answer bounds the next.
  for (int i = 0; i < 1000 && edge_.published() == before; ++i) ASSERT_TRUE(client().fetch_status());
  EXPECT_TRUE(edge_.has("new.localhost")) << "a broken file changes nothing";
  const auto status = client().fetch_status();
  ASSERT_EQ(status->warnings.size(), 1U);
  EXPECT_NE(status->warnings[0].find("edge.toml:3:1"), std::string::npos);
  EXPECT_NE(status->warnings[0].find("config_invalid"), std::string::npos);
}

TEST_F(ControlThreadTest, SigtermAndSigintDrainOnce) {
  for (const int number : {SIGTERM, SIGINT}) {
    edge_.drains = 0;
    start();
    ASSERT_EQ(::raise(number), 0);
    ASSERT_EQ(::raise(number), 0);
    EXPECT_TRUE(stops());
    EXPECT_TRUE(client().fetch_status()) << "control goes on while connections finish";
    EXPECT_EQ(edge_.drains, 1);
    control_->stop();
    control_.reset();
  }
}

TEST_F(ControlThreadTest, ARequestedStopDrains) {
  start();
  control_->request_stop();
  EXPECT_TRUE(stops());
  EXPECT_EQ(edge_.drains, 1);
}

TEST_F(ControlThreadTest, StoppingRemovesTheSocketAndMayBeRepeated) {
  start();
  control_->stop();
  control_->stop();
  control_.reset();
  EXPECT_FALSE(std::filesystem::exists(options_.control_socket));
  EXPECT_EQ(client().fetch_status().error().id(), "edge_not_running");
  start();
  EXPECT_TRUE(client().fetch_status());
}

TEST_F(ControlThreadTest, ASecondEdgeIsTurnedAway) {
  start();
  const auto second = ControlThread::create(options_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().id(), "edge_already_running");
  EXPECT_TRUE(client().fetch_status());
}

TEST_F(ControlThreadTest, ASecondEdgeOfTheStateDirectoryIsTurnedAwayAlsoFromAnotherSocket) {
  start();
  ControlOptions other = options_;
  other.control_socket = directory_ / "run/other.sock";
  const auto second = ControlThread::create(other);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().id(), "edge_already_running");
  EXPECT_FALSE(std::filesystem::exists(other.control_socket));
  EXPECT_EQ(router::find_control_socket(directory_.path(), "/run/standard.sock"), options_.control_socket);
}

TEST_F(ControlThreadTest, TheStateDirectoryIsFreeAfterTheEnd) {
  start();
  const auto while_it_lives = router::require_no_edge(directory_.path(), 0ms);
  ASSERT_FALSE(while_it_lives);
  EXPECT_EQ(while_it_lives.error().id(), "edge_unresponsive");
  control_.reset();
  EXPECT_TRUE(router::require_no_edge(directory_.path(), 0ms));
  EXPECT_EQ(router::find_control_socket(directory_.path(), "/run/standard.sock"), "/run/standard.sock");
}

TEST_F(ControlThreadTest, LookingForAnEdgeMakesNoFile) {
  EXPECT_TRUE(router::require_no_edge(directory_.path(), 0ms));
  EXPECT_FALSE(std::filesystem::exists(router::edge_lock(directory_.path())));
}

TEST_F(ControlThreadTest, AStateDirectoryThatCannotBeLockedStopsNothing) {
  options_.state_directory = directory_ / "gone";
  start();
  EXPECT_TRUE(client().fetch_status());
}

TEST_F(ControlThreadTest, WithoutALockTheNoteStillLeadsToTheEdgeAndGoesWithIt) {
  // No file that could be locked, in a directory that can be written.
  std::filesystem::create_directory(router::edge_lock(directory_.path()));
  start();
  EXPECT_EQ(router::find_control_socket(directory_.path(), "/run/standard.sock"), options_.control_socket);
  control_.reset();
  EXPECT_EQ(router::find_control_socket(directory_.path(), "/run/standard.sock"), "/run/standard.sock");
}

TEST_F(ControlThreadTest, WithoutALockAnotherEdgesNoteStays) {
  std::filesystem::create_directory(router::edge_lock(directory_.path()));
  start();
  ASSERT_TRUE(router::note_control_socket(directory_.path(), "/run/another.sock"));
  control_.reset();
  EXPECT_EQ(router::find_control_socket(directory_.path(), "/run/standard.sock"), "/run/another.sock");
}

TEST_F(ControlThreadTest, AnEdgeThatWasNeverStartedGoesQuietly) {
  auto control = ControlThread::create(options_);
  ASSERT_TRUE(control);
  control->reset();
  EXPECT_FALSE(std::filesystem::exists(options_.control_socket));
}

TEST_F(ControlThreadTest, TheSocketIsFoundThroughTheStateDirectory) {
  start();
  const auto found = router::find_control_socket(directory_.path(), "/run/standard.sock");
  EXPECT_EQ(found, options_.control_socket);
}

TEST_F(ControlThreadTest, StartingAndRegisteringAsksNoEngine) {
  // A listening socket on which nobody may knock.
  const UniqueFd engine(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (directory_ / "docker.sock").string();
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(engine.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(engine.get(), 4), 0);
  options_.docker_host = "unix://" + path;
  Route docker = route("docker.localhost");
  docker.upstream = router::DockerUpstream{"ghost", 80};
  options_.static_routes = {docker};
  start();
  EXPECT_EQ(request("PUT", "/v1/routes/ghost.localhost", R"({"upstream": "docker:ghost:80"})")->status, 200U);
  ASSERT_EQ(::raise(SIGHUP), 0);
  EXPECT_TRUE(client().fetch_status());
  pollfd knock{engine.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&knock, 1, 0), 0);
}

TEST_F(ControlThreadTest, UpstreamsAreAnsweredAlsoAfterTheStop) {
  start();
  for (const bool is_stopped : {false, true}) {
    if (is_stopped) control_->stop();
    std::promise<UpstreamAnswer> answer;
    control_->docker().resolve(router::DockerUpstream{"ghost", 80},
                               [&answer](UpstreamAnswer found) { answer.set_value(std::move(found)); });
    auto future = answer.get_future();
    ASSERT_EQ(future.wait_for(test::kAnswerLimit), std::future_status::ready);
    const UpstreamAnswer found = future.get();
    const auto* error = std::get_if<ProxyError>(&found);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->reason, is_stopped ? ProxyReason::shutting_down : ProxyReason::engine_not_running);
  }
}

}  // namespace
}  // namespace hedge::proxy
