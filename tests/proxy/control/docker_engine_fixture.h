// An engine's client between a scripted engine and a recording edge.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "proxy/control/docker_engine.h"
#include "tests/proxy/control/fake_engine.h"
#include "tests/support/temporary_directory.h"

namespace hedge::test {

inline constexpr std::chrono::seconds kLimit{5};

// What the edge was told, in order.
class RecordedEvents final : public proxy::UpstreamEvents {
 public:
  void identity_gone(std::string identity) override { add("gone " + identity); }
  void docker_answers_changed() override {
    const bool fails = failures.exchange(0) > 0;  // before anybody is told, who may set it for the next
    add("changed");
    if (fails) throw std::runtime_error("a bug in the edge");
  }
  // Above zero: the next change makes the edge throw.
  std::atomic<int> failures = 0;

  // False: not within the limit.
  bool wait_for(const std::string& what, int count = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLimit, [&] { return count_of(what) >= count; });
  }
  int count(const std::string& what) const {
    const std::lock_guard lock(mutex_);
    return count_of(what);
  }

 private:
  void add(std::string what) {
    const std::lock_guard lock(mutex_);
    told_.push_back(std::move(what));
    changed_.notify_all();
  }
  int count_of(const std::string& what) const {
    return static_cast<int>(std::count(told_.begin(), told_.end(), what));
  }
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
};

class DockerEngineTest : public testing::Test {
 protected:
  DockerEngineTest() : fake_(directory_ / "docker.sock") {
    options_.docker_host = "unix://" + (directory_ / "docker.sock").string();
    options_.place.is_connected = [](const std::string&) { return true; };
    options_.is_own_address = [](const std::string&) { return true; };
    options_.first_backoff = std::chrono::milliseconds(5);
    options_.last_backoff = std::chrono::milliseconds(20);
    // Long enough for a loaded machine; the tests of silence shorten it.
    options_.resolve_limit = std::chrono::seconds(4);
    fake_.put({"alpha-id-000000",
               "wt-alpha-app",
               "running",
               {{"app", "shop"}, {"wt", "alpha"}},
               {{"edge", "172.18.0.4"}}});
    fake_.put({"beta-id-0000000",
               "wt-beta-app",
               "running",
               {{"app", "shop"}, {"wt", "beta"}},
               {{"edge", "172.18.0.5"}}});
  }
  ~DockerEngineTest() override {
    if (engine_ == nullptr) return;
    boost::asio::post(io_, [this] { engine_->shut_down(); });
    work_.reset();
    thread_.join();
  }

  proxy::DockerEngine& engine() {
    if (engine_ == nullptr) {
      engine_ = std::make_unique<proxy::DockerEngine>(io_, options_);
      engine_->tell(events_);
      thread_ = std::thread([this] { io_.run(); });
    }
    return *engine_;
  }

  std::future<proxy::UpstreamAnswer> ask(const std::string& selector, std::uint16_t port = 8000) {
    auto promise = std::make_shared<std::promise<proxy::UpstreamAnswer>>();
    engine().resolve(router::DockerUpstream{selector, port},
                     [promise](proxy::UpstreamAnswer answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }
  static proxy::UpstreamAnswer wait(std::future<proxy::UpstreamAnswer> future) {
    if (future.wait_for(kLimit) == std::future_status::ready) return future.get();
    ADD_FAILURE() << "no answer";
    return proxy::ProxyError{};
  }
  // The first address, or the id of the failure.
  std::string resolve(const std::string& selector, std::uint16_t port = 8000) {
    const proxy::UpstreamAnswer answer = wait(ask(selector, port));
    if (const auto* found = std::get_if<proxy::ResolvedUpstreamPtr>(&answer))
      return (*found)->endpoints.front().to_string();
    last_error_ = std::get<proxy::ProxyError>(answer);
    return std::string(last_error_.id());
  }
  // With the event stream up, so that only events and time make answers old.
  void begin_watching() {
    resolve("wt-alpha-app");
    ASSERT_TRUE(events_.wait_for("changed"));
  }

  TemporaryDirectory directory_;
  FakeEngine fake_;
  proxy::DockerEngineOptions options_;
  RecordedEvents events_;
  proxy::ProxyError last_error_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  std::unique_ptr<proxy::DockerEngine> engine_;
  std::thread thread_;
};

}  // namespace hedge::test
