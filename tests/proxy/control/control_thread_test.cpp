#include "proxy/control/control_thread.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/http_client.h"
#include "base/unique_fd.h"
#include "router/edge_client.h"
#include "router/sqlite_route_store.h"
#include "tests/support/temporary_directory.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using router::EdgeClient;
using router::PokeResult;
using router::Route;
using router::RouteTable;

constexpr auto kLimit = 5s;

// An edge that only remembers what it was told.
class FakeEdge final : public ManagedEdge, public UpstreamEvents {
 public:
  void publish(std::shared_ptr<const RouteTable> table) override {
    const std::lock_guard lock(mutex_);
    table_ = std::move(table);
    ++published_;
    changed_.notify_all();
  }
  EdgeFacts facts() const override {
    EdgeFacts facts;
    facts.workers = 1;
    facts.listeners = {{"http", "127.0.0.1", 8080}};
    return facts;
  }
  void begin_drain() override { ++drains; }
  void identity_gone(std::string) override {}
  void docker_answers_changed() override {}

  // False: not within the limit.
  bool wait_for_route(const std::string& host, bool there = true) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLimit, [&] { return table_ && (table_->find(host) != nullptr) == there; });
  }
  bool has(const std::string& host) const {
    const std::lock_guard lock(mutex_);
    return table_ != nullptr && table_->find(host) != nullptr;
  }
  int published() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  std::atomic<int> drains = 0;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const RouteTable> table_;
  int published_ = 0;
};

Route route(const std::string& host, const std::string& worktree = "") {
  Route out;
  out.host = host;
  out.upstream = router::TcpUpstream{"127.0.0.1", 3000};
  out.worktree = worktree;
  return out;
}

class ControlThreadTest : public testing::Test {
 protected:
  ControlThreadTest() {
    options_.state_directory = directory_.path();
    options_.control_socket = directory_ / "run/edge.sock";
    options_.open_store = [path = store_path()]() -> Result<std::unique_ptr<router::RouteStore>> {
      auto store = router::SqliteRouteStore::open(path);
      if (!store) return store.error();
      return std::unique_ptr<router::RouteStore>(std::move(*store));
    };
    options_.docker_host = "unix://" + (directory_ / "no-docker.sock").string();
    // Far away, so that what a test sees was not the watch's doing; its own test shortens it.
    options_.watch_interval = 1h;
  }
  std::filesystem::path store_path() const { return directory_ / "routes.db"; }

  void start() {
    auto control = ControlThread::create(options_);
    ASSERT_TRUE(control) << control.error().to_string();
    control_ = std::move(*control);
    control_->start(edge_, edge_);
  }
  EdgeClient client() const { return EdgeClient(options_.control_socket, kLimit); }
  void store(const Route& wanted) {
    const auto opened = router::SqliteRouteStore::open(store_path());
    ASSERT_TRUE(opened) << opened.error().to_string();
    ASSERT_TRUE((*opened)->put(wanted));
  }
  Result<HttpResponse> request(const std::string& method, const std::string& target, const std::string& body = "") {
    HttpRequest out;
    out.method = method;
    out.target = target;
    out.body = body;
    if (!body.empty()) out.headers = {{"Content-Type", "application/json"}};
    return http_fetch(UnixAddress{options_.control_socket}, out, kLimit);
  }
  // False: not within the limit.
  bool stops() {
    auto stopped = std::async(std::launch::async, [this] { control_->wait_for_stop(); });
    const bool in_time = stopped.wait_for(kLimit) == std::future_status::ready;
    if (!in_time) control_->request_stop();
    return in_time;
  }
  UniqueFd connect() const {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    options_.control_socket.string().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  // Everything until the peer closes, which it must do within the limit.
  static std::string read_all(int fd) {
    std::string out;
    std::array<char, 4096> block{};
    while (true) {
      pollfd wait{fd, POLLIN, 0};
      if (::poll(&wait, 1, 5000) != 1) {
        ADD_FAILURE() << "the connection stays open after " << out;
        return out;
      }
      const ssize_t got = ::read(fd, block.data(), block.size());
      if (got <= 0) return out;
      out.append(block.data(), static_cast<std::size_t>(got));
    }
  }

  test::TemporaryDirectory directory_;
  ControlOptions options_;
  FakeEdge edge_;
  std::unique_ptr<ControlThread> control_;
};

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

TEST_F(ControlThreadTest, OneUnreadableRecordIsNamed) {
  store(route("good.localhost"));
  store(route("broken.localhost"));
  {
    auto database = sqlite::Database::open(store_path(), sqlite::OpenMode::read_write_create, sqlite::Durability::normal);
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

TEST_F(ControlThreadTest, ASighupReadsTheStaticRoutesAgain) {
  std::atomic<bool> is_broken = false;
  options_.static_routes = {route("old.localhost")};
  options_.reload_static_routes = [&is_broken]() -> Result<std::vector<Route>> {
    if (is_broken) return Error(ErrorKind::invalid_input, "edge.toml:3:1: nonsense");
    return std::vector<Route>{route("new.localhost")};
  };
  start();
  ASSERT_EQ(::raise(SIGHUP), 0);
  EXPECT_TRUE(edge_.wait_for_route("new.localhost"));
  EXPECT_FALSE(edge_.has("old.localhost"));

  is_broken = true;
  const int before = edge_.published();
  ASSERT_EQ(::raise(SIGHUP), 0);
  // Two questions, because the first may overtake the signal; each answer bounds the next.
  for (int i = 0; i < 1000 && edge_.published() == before; ++i) ASSERT_TRUE(client().fetch_status());
  EXPECT_TRUE(edge_.has("new.localhost")) << "a broken file changes nothing";
  const auto status = client().fetch_status();
  ASSERT_EQ(status->warnings.size(), 1U);
  EXPECT_NE(status->warnings[0].find("edge.toml:3:1"), std::string::npos);
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
    ASSERT_EQ(future.wait_for(kLimit), std::future_status::ready);
    const UpstreamAnswer found = future.get();
    const auto* error = std::get_if<ProxyError>(&found);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->reason, is_stopped ? ProxyReason::shutting_down : ProxyReason::engine_not_running);
  }
}

TEST_F(ControlThreadTest, TooLargeABodyIsRefusedAndTheConnectionClosed) {
  start();
  const auto refused = request("PUT", "/v1/routes/a.localhost", std::string((1U << 20) + 1, 'x'));
  ASSERT_TRUE(refused) << refused.error().to_string();
  EXPECT_EQ(refused->status, 413U);
  EXPECT_EQ(request("PUT", "/v1/routes/a.localhost", std::string(1U << 20, 'x'))->status, 400U) << "exactly 1 MiB is read";
}

struct RawRequest {
  std::string text;
  std::string status;  // empty: closed without a word
};

TEST_F(ControlThreadTest, WhatIsNoRequestIsRefusedAndClosed) {
  start();
  const std::vector<RawRequest> cases = {
      {"\x16\x03\x01\x02\x05", "400"},
      {"GET / HTTP/9.9\r\n\r\n", "400"},
      {"GET /v1/status HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n", "431"},
      {"GET /v1/status HTTP/1.1\r\nHost", ""},
      {"", ""},
  };
  for (const RawRequest& row : cases) {
    const UniqueFd fd = connect();
    ASSERT_EQ(::send(fd.get(), row.text.data(), row.text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(row.text.size()));
    ::shutdown(fd.get(), SHUT_WR);
    const std::string answer = read_all(fd.get());
    const std::string expected = row.status.empty() ? "" : "HTTP/1.1 " + row.status;
    EXPECT_EQ(answer.substr(0, expected.size()), expected) << row.text.substr(0, 40);
    if (row.status.empty()) {
      EXPECT_EQ(answer, "");
    }
  }
  EXPECT_TRUE(client().fetch_status());
}

TEST_F(ControlThreadTest, OneConnectionCarriesManyRequests) {
  start();
  const UniqueFd fd = connect();
  const std::string one = "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string last = "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string all = one + one + last;
  ASSERT_EQ(::send(fd.get(), all.data(), all.size(), MSG_NOSIGNAL), static_cast<ssize_t>(all.size()));
  const std::string answers = read_all(fd.get());
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 200 OK", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 3U) << answers;
}

TEST_F(ControlThreadTest, ManySilentConnectionsDoNotKeepItFromStopping) {
  start();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 80; ++i) silent.push_back(connect());
  control_->stop();
  for (const UniqueFd& fd : silent) EXPECT_EQ(read_all(fd.get()), "");
}

}  // namespace
}  // namespace hedge::proxy
