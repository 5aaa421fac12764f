// A control thread with a real store and socket, and an edge that only remembers what it was told.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/http_client.h"
#include "base/unique_fd.h"
#include "proxy/control/control_thread.h"
#include "router/edge_client.h"
#include "router/sqlite_route_store.h"
#include "tests/support/temporary_directory.h"

namespace hedge::test {

inline constexpr std::chrono::seconds kAnswerLimit{5};

// An edge that only remembers what it was told.
class FakeEdge final : public proxy::ManagedEdge, public proxy::UpstreamEvents {
 public:
  void publish(std::shared_ptr<const router::RouteTable> table) override {
    const std::lock_guard lock(mutex_);
    table_ = std::move(table);
    ++published_;
    changed_.notify_all();
  }
  proxy::EdgeFacts facts() const override {
    if (failures.exchange(0) > 0) throw std::runtime_error("a bug in the edge");
    proxy::EdgeFacts facts;
    facts.workers = 1;
    facts.listeners = {{"http", "127.0.0.1", 8080}};
    return facts;
  }
  proxy::EdgeMetrics metrics() const override { return {}; }
  void begin_drain() override { ++drains; }
  std::vector<proxy::OpenAddress> addresses() const override { return open; }
  void pause_accepting() override { ++pauses; }
  bool has_paused() const override { return true; }
  void resume_accepting() override { ++resumes; }
  void leave_to_successor() override { ++left; }
  void identity_gone(std::string) override {}
  void docker_answers_changed() override {}

  // False: not within the limit.
  bool wait_for_route(const std::string& host, bool there = true) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kAnswerLimit,
                             [&] { return table_ && (table_->find(host) != nullptr) == there; });
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
  std::vector<proxy::OpenAddress> open;
  std::atomic<int> pauses = 0;
  std::atomic<int> resumes = 0;
  std::atomic<int> left = 0;
  // Above zero: the next question about its facts makes it throw.
  mutable std::atomic<int> failures = 0;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const router::RouteTable> table_;
  int published_ = 0;
};

inline router::Route route(const std::string& host, const std::string& worktree = "") {
  router::Route out;
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
      auto store = router::SqliteRouteStore::open(path, proxy::kStoreBusyLimit);
      if (!store) return store.error();
      return std::unique_ptr<router::RouteStore>(std::move(*store));
    };
    options_.docker_host = "unix://" + (directory_ / "no-docker.sock").string();
    // Far away, so that what a test sees was not the watch's doing; its own test shortens it.
    options_.watch_interval = std::chrono::hours(1);
  }
  std::filesystem::path store_path() const { return directory_ / "routes.db"; }

  void start() {
    auto control = proxy::ControlThread::create(options_);
    ASSERT_TRUE(control) << control.error().to_string();
    control_ = std::move(*control);
    control_->start(edge_, edge_);
  }
  router::EdgeClient client() const { return router::EdgeClient(options_.control_socket, kAnswerLimit); }
  void store(const router::Route& wanted) {
    const auto opened = router::SqliteRouteStore::open(store_path());
    ASSERT_TRUE(opened) << opened.error().to_string();
    ASSERT_TRUE((*opened)->put(wanted));
  }
  Result<HttpResponse> request(const std::string& method, const std::string& target,
                               const std::string& body = "") {
    HttpRequest out;
    out.method = method;
    out.target = target;
    out.body = body;
    if (!body.empty()) out.headers = {{"Content-Type", "application/json"}};
    return http_fetch(UnixAddress{options_.control_socket}, out, kAnswerLimit);
  }
  // False: not within the limit.
  bool stops() {
    auto stopped = std::async(std::launch::async, [this] { control_->wait_for_stop(); });
    const bool in_time = stopped.wait_for(kAnswerLimit) == std::future_status::ready;
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

  TemporaryDirectory directory_;
  proxy::ControlOptions options_;
  FakeEdge edge_;
  std::unique_ptr<proxy::ControlThread> control_;
};

}  // namespace hedge::test
