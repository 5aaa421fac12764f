#include "proxy/control/docker_engine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/proxy/control/fake_engine.h"
#include "tests/support/temporary_directory.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using test::FakeContainer;
using test::FakeEngine;
using Mode = FakeEngine::Mode;

constexpr auto kLimit = 5s;

// What the edge was told, in order.
class RecordedEvents final : public UpstreamEvents {
 public:
  void identity_gone(std::string identity) override { add("gone " + identity); }
  void docker_answers_changed() override { add("changed"); }

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
    options_.first_backoff = 5ms;
    options_.last_backoff = 20ms;
    // Long enough for a loaded machine; the tests of silence shorten it.
    options_.resolve_limit = 4s;
    fake_.put({"alpha-id-000000", "wt-alpha-app", "running", {{"app", "shop"}, {"wt", "alpha"}}, {{"edge", "172.18.0.4"}}});
    fake_.put({"beta-id-0000000", "wt-beta-app", "running", {{"app", "shop"}, {"wt", "beta"}}, {{"edge", "172.18.0.5"}}});
  }
  ~DockerEngineTest() override {
    if (engine_ == nullptr) return;
    boost::asio::post(io_, [this] { engine_->shut_down(); });
    work_.reset();
    thread_.join();
  }

  DockerEngine& engine() {
    if (engine_ == nullptr) {
      engine_ = std::make_unique<DockerEngine>(io_, options_);
      engine_->tell(events_);
      thread_ = std::thread([this] { io_.run(); });
    }
    return *engine_;
  }

  std::future<UpstreamAnswer> ask(const std::string& selector, std::uint16_t port = 8000) {
    auto promise = std::make_shared<std::promise<UpstreamAnswer>>();
    engine().resolve(router::DockerUpstream{selector, port},
                     [promise](UpstreamAnswer answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }
  static UpstreamAnswer wait(std::future<UpstreamAnswer> future) {
    if (future.wait_for(kLimit) == std::future_status::ready) return future.get();
    ADD_FAILURE() << "no answer";
    return ProxyError{};
  }
  // The first address, or the id of the failure.
  std::string resolve(const std::string& selector, std::uint16_t port = 8000) {
    const UpstreamAnswer answer = wait(ask(selector, port));
    if (const auto* found = std::get_if<ResolvedUpstreamPtr>(&answer)) return (*found)->endpoints.front().to_string();
    last_error_ = std::get<ProxyError>(answer);
    return std::string(last_error_.id());
  }
  // With the event stream up, so that only events and time make answers old.
  void begin_watching() {
    resolve("wt-alpha-app");
    ASSERT_TRUE(events_.wait_for("changed"));
  }

  test::TemporaryDirectory directory_;
  FakeEngine fake_;
  DockerEngineOptions options_;
  RecordedEvents events_;
  ProxyError last_error_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  std::unique_ptr<DockerEngine> engine_;
  std::thread thread_;
};

TEST_F(DockerEngineTest, FindsAContainerByNameIdAndLabels) {
  fake_.start();
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  EXPECT_EQ(resolve("alpha-id-000000"), "172.18.0.4:8000");
  EXPECT_EQ(resolve("alpha-id-0000", 80), "172.18.0.4:80") << "the beginning of an id, as docker ps prints it";
  EXPECT_EQ(resolve("app=shop,wt=beta"), "172.18.0.5:8000");
}

TEST_F(DockerEngineTest, NothingIsAskedBeforeARequestNeedsIt) {
  fake_.start();
  engine();
  EXPECT_TRUE(fake_.targets().empty());
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
}

TEST_F(DockerEngineTest, ANameIsNeverTakenForTheBeginningOfAnId) {
  fake_.put({"cafe-123456789", "somebody", "running", {}, {{"edge", "172.18.0.9"}}});
  fake_.start();
  EXPECT_EQ(resolve("cafe"), "upstream_unresolved");
}

TEST_F(DockerEngineTest, E39_EachFailureHasItsOwnReason) {
  fake_.put({"stopped-id-0000", "stopped", "exited", {}, {{"edge", "172.18.0.6"}}});
  fake_.put({"alone-id-000000", "alone", "running", {}, {{"private", "172.20.0.2"}}});
  options_.place.configured_network = "edge";
  fake_.start();
  EXPECT_EQ(resolve("nobody"), "upstream_unresolved");
  EXPECT_EQ(resolve("stopped"), "container_stopped");
  EXPECT_EQ(last_error_.fix, "docker start stopped");
  EXPECT_EQ(resolve("alone"), "upstream_off_network");
  EXPECT_EQ(resolve("app=shop"), "upstream_ambiguous");
  EXPECT_EQ(resolve("app=none"), "upstream_unresolved");
}

TEST_F(DockerEngineTest, TheVersionIsTheOneThatTheEngineNames) {
  fake_.set_version("1.51", "1.44");
  fake_.start();
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  EXPECT_GE(fake_.requests_for("/v1.51/containers/wt-alpha-app/json"), 1);
}

TEST_F(DockerEngineTest, WithoutAVersionThePathGoesWithout) {
  fake_.set_version("");
  fake_.start();
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  for (const std::string& target : fake_.targets()) EXPECT_FALSE(target.starts_with("/v")) << target;
}

TEST_F(DockerEngineTest, AnEngineUpgradedUnderUsIsAskedForItsVersionAgain) {
  options_.resolve_ttl = 0ms;
  fake_.set_version("1.41");
  fake_.start();
  begin_watching();
  fake_.set_version("1.51", "1.44");
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  EXPECT_EQ(fake_.requests_for("/v1.51/containers"), 1);
}

TEST_F(DockerEngineTest, AnEngineThatRefusesItsOwnVersionIsUnsupported) {
  fake_.set_version("1.24", "1.44");
  fake_.start();
  EXPECT_EQ(resolve("wt-alpha-app"), "engine_unsupported");
}

TEST_F(DockerEngineTest, AVersionThatIsNoneIsUnsupported) {
  fake_.set_version("../../x");
  fake_.start();
  EXPECT_EQ(resolve("wt-alpha-app"), "engine_unsupported");
}

TEST_F(DockerEngineTest, AnEngineThatIsNotThereIsNotRunning) {
  EXPECT_EQ(resolve("wt-alpha-app"), "engine_not_running");
  EXPECT_NE(last_error_.detail.find("docker.sock"), std::string::npos) << last_error_.detail;
}

TEST_F(DockerEngineTest, WhatAnswersButIsNoEngineIsUnresponsive) {
  for (const Mode mode : {Mode::garbage, Mode::no_json, Mode::failing, Mode::hangs_up}) {
    fake_.stop();
    fake_.set_mode(mode);
    fake_.start();
    options_.failure_ttl = 0ms;
    EXPECT_EQ(resolve("wt-alpha-app"), "engine_unresponsive") << static_cast<int>(mode);
  }
}

TEST_F(DockerEngineTest, ASilentEngineIsGivenUpWithinTheLimit) {
  fake_.set_mode(Mode::silent);
  fake_.start();
  options_.resolve_limit = 50ms;
  EXPECT_EQ(resolve("wt-alpha-app"), "engine_unresponsive");
  EXPECT_NE(last_error_.detail.find("does not answer"), std::string::npos) << last_error_.detail;
}

TEST(DockerEngineDefaults, AnAnswerComesBeforeTheWorkersSecondIsOver) {
  EXPECT_LT(DockerEngineOptions().resolve_limit, 1000ms);
  EXPECT_LE(DockerEngineOptions().resolve_ttl, 1000ms);
  EXPECT_LE(DockerEngineOptions().failure_ttl, 250ms);
}

TEST_F(DockerEngineTest, AnAddressOfAnotherKindIsUnsupported) {
  options_.docker_host = "ssh://somewhere";
  EXPECT_EQ(resolve("wt-alpha-app"), "engine_unsupported");
}

TEST_F(DockerEngineTest, NoPermissionIsNamed) {
  // In a child, because root has to become somebody else to be refused anything.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const bool is_ready = ::geteuid() == 0 ? ::setuid(kNobody) == 0 : ::chmod(directory_.path().c_str(), 0) == 0;
    ::_exit(is_ready && resolve("wt-alpha-app") == "engine_permission" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::chmod(directory_.path().c_str(), 0700);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(DockerEngineTest, ConcurrentNeedsShareOneQuery) {
  fake_.start();
  begin_watching();
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  fake_.before_inspected([opened] { opened.wait_for(kLimit); });
  std::vector<std::future<UpstreamAnswer>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(ask("wt-beta-app"));
  ASSERT_TRUE(fake_.wait_for_requests("/containers/wt-beta-app", 1));
  gate.set_value();
  for (auto& answer : answers) EXPECT_TRUE(std::holds_alternative<ResolvedUpstreamPtr>(wait(std::move(answer))));
  EXPECT_EQ(fake_.requests_for("/containers/wt-beta-app"), 1);
}

TEST_F(DockerEngineTest, AnAnswerIsReusedUntilItIsOld) {
  options_.resolve_ttl = 1h;
  options_.failure_ttl = 1h;
  fake_.start();
  begin_watching();
  resolve("wt-alpha-app");
  const int asked = fake_.requests_for("/containers/wt-alpha-app");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  EXPECT_EQ(fake_.requests_for("/containers/wt-alpha-app"), asked);
  EXPECT_EQ(resolve("nobody"), "upstream_unresolved");
  EXPECT_EQ(resolve("nobody"), "upstream_unresolved");
  EXPECT_EQ(fake_.requests_for("/containers/nobody"), 1) << "failures, too";
}

TEST_F(DockerEngineTest, WithoutReuseEachNeedAsks) {
  options_.resolve_ttl = 0ms;
  fake_.start();
  begin_watching();
  const int asked = fake_.requests_for("/containers/wt-alpha-app");
  for (int i = 0; i < 3; ++i) resolve("wt-alpha-app");
  EXPECT_EQ(fake_.requests_for("/containers/wt-alpha-app"), asked + 3);
}

TEST_F(DockerEngineTest, E02_AStartMakesAnswersBeAskedForAnew) {
  options_.resolve_ttl = 1h;
  fake_.start();
  begin_watching();
  ASSERT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  fake_.put({"alpha-id-000000", "wt-alpha-app", "running", {}, {{"edge", "172.18.0.77"}}});
  for (const auto& [type, action] : std::vector<std::pair<std::string, std::string>>{
           {"container", "start"}, {"network", "connect"}, {"container", "unpause"}, {"container", "rename"}}) {
    const int before = events_.count("changed");
    const int asked = fake_.requests_for("/containers/wt-alpha-app");
    fake_.emit(type, action, "alpha-id-000000");
    ASSERT_TRUE(events_.wait_for("changed", before + 1)) << action;
    EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.77:8000");
    EXPECT_EQ(fake_.requests_for("/containers/wt-alpha-app"), asked + 1) << action;
  }
}

TEST_F(DockerEngineTest, E03_AnEndDrainsTheContainersIdentitiesAndNoOther) {
  options_.resolve_ttl = 1h;
  fake_.start();
  begin_watching();
  for (const std::string action : {"die", "destroy", "disconnect"}) {
    ASSERT_EQ(resolve("wt-alpha-app", 8000), "172.18.0.4:8000");
    ASSERT_EQ(resolve("wt-alpha-app", 9000), "172.18.0.4:9000");
    ASSERT_EQ(resolve("wt-beta-app", 8000), "172.18.0.5:8000");
    const int before = events_.count("gone alpha-id-000000:9000");
    fake_.emit(action == "disconnect" ? "network" : "container", action, "alpha-id-000000");
    EXPECT_TRUE(events_.wait_for("gone alpha-id-000000:9000", before + 1)) << action;
    EXPECT_TRUE(events_.wait_for("gone alpha-id-000000:8000", before + 1)) << action;
  }
  EXPECT_EQ(events_.count("gone beta-id-0000000:8000"), 0);
}

TEST_F(DockerEngineTest, E03_AnAnswerThatAnEventOvertookIsAskedForAgain) {
  fake_.start();
  begin_watching();
  // While the engine's answer about beta is on its way, the address moves.
  std::atomic<int> calls = 0;
  fake_.before_inspected([this, &calls] {
    if (calls++ > 0) return;
    const int before = events_.count("changed");
    fake_.put({"beta-id-0000000", "wt-beta-app", "running", {}, {{"edge", "172.18.0.88"}}});
    fake_.emit("container", "die", "alpha-id-000000");
    EXPECT_TRUE(events_.wait_for("changed", before + 1));
  });
  EXPECT_EQ(resolve("wt-beta-app"), "172.18.0.88:8000");
  EXPECT_EQ(calls, 2);
}

TEST_F(DockerEngineTest, EventsArriveInWhateverPiecesTheyAreSent) {
  fake_.start();
  begin_watching();
  const int before = events_.count("changed");
  const std::string start = R"({"Type":"container","Action":"start","Actor":{"ID":"x","Attributes":{}}})" "\n";
  fake_.emit_raw("\n\r\nnot json\n{}\n[1]\n{\"Type\":\"image\",\"Action\":\"pull\"}\n" + start + start + start.substr(0, 20));
  EXPECT_TRUE(events_.wait_for("changed", before + 2));
  fake_.emit_raw(start.substr(20));
  EXPECT_TRUE(events_.wait_for("changed", before + 3));
  EXPECT_EQ(fake_.requests_for("/events"), 1) << "one stream all the while";
}

TEST_F(DockerEngineTest, ALineWithoutAnEndEndsTheStreamNotTheMemory) {
  fake_.start();
  begin_watching();
  const std::string piece(256 * 1024, 'x');
  for (int i = 0; i < 5; ++i) fake_.emit_raw(piece);
  EXPECT_TRUE(fake_.wait_for_streams(2));
}

TEST_F(DockerEngineTest, ALostStreamIsOpenedAgainAndNothingFromBeforeIsTrusted) {
  options_.resolve_ttl = 1h;
  fake_.start();
  begin_watching();
  ASSERT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  const int before = events_.count("changed");
  fake_.put({"alpha-id-000000", "wt-alpha-app", "running", {}, {{"edge", "172.18.0.99"}}});
  fake_.end_streams();
  ASSERT_TRUE(events_.wait_for("changed", before + 1));
  EXPECT_EQ(events_.count("gone alpha-id-000000:8000"), 1);
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.99:8000");
}

TEST_F(DockerEngineTest, TheLastGoodAnswersStayUsableWhileTheEngineIsAway) {
  options_.resolve_ttl = 0ms;
  options_.failure_ttl = 0ms;
  fake_.start();
  begin_watching();
  ASSERT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  fake_.stop();
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  EXPECT_EQ(resolve("wt-beta-app"), "engine_not_running") << "never asked for before";
  // The engine comes back, and with it the truth.
  fake_.remove("alpha-id-000000");
  const int before = events_.count("changed");
  fake_.start();
  ASSERT_TRUE(events_.wait_for("changed", before + 1));
  EXPECT_EQ(resolve("wt-alpha-app"), "upstream_unresolved");
  fake_.stop();
  EXPECT_EQ(resolve("wt-alpha-app"), "engine_not_running") << "what was disproved is not good any more";
}

TEST_F(DockerEngineTest, AnEndedContainerIsNoLastGoodAnswer) {
  options_.resolve_ttl = 0ms;
  options_.failure_ttl = 0ms;
  fake_.start();
  begin_watching();
  ASSERT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  fake_.emit("container", "die", "alpha-id-000000");
  ASSERT_TRUE(events_.wait_for("gone alpha-id-000000:8000"));
  fake_.stop();
  EXPECT_EQ(resolve("wt-alpha-app"), "engine_not_running");
}

TEST_F(DockerEngineTest, InAContainerTheEdgesOwnNetworksAreAskedForOnce) {
  options_.resolve_ttl = 0ms;
  options_.own_container = "edge-container-id";
  fake_.put({"edge-container-id", "edge", "running", {}, {{"edge", "172.18.0.2"}}});
  fake_.put({"both-id-00000000", "both", "running", {}, {{"aa-private", "172.20.0.2"}, {"edge", "172.18.0.7"}}});
  fake_.start();
  EXPECT_EQ(resolve("both"), "172.18.0.7:8000");
  EXPECT_EQ(resolve("both"), "172.18.0.7:8000");
  EXPECT_EQ(fake_.requests_for("/containers/edge-container-id"), 1);
  // The edge joins another network.
  ASSERT_TRUE(events_.wait_for("changed"));
  const int before = events_.count("changed");
  fake_.put({"edge-container-id", "edge", "running", {}, {{"aa-private", "172.20.0.9"}}});
  fake_.emit("network", "connect", "edge-container-id");
  ASSERT_TRUE(events_.wait_for("changed", before + 1));
  EXPECT_EQ(resolve("both"), "172.20.0.2:8000");
}

TEST_F(DockerEngineTest, AContainerOfAnotherEngineIsTreatedAsAHost) {
  options_.own_container = "unknown-container-id";
  fake_.start();
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
}

TEST_F(DockerEngineTest, StoppingAnswersEverybodyWhoWaits) {
  fake_.set_mode(Mode::silent);
  fake_.start();
  auto waiting = ask("wt-alpha-app");
  ASSERT_TRUE(fake_.wait_for_requests("/_ping", 1));
  boost::asio::post(io_, [this] { engine_->shut_down(); });
  EXPECT_TRUE(std::holds_alternative<ProxyError>(wait(std::move(waiting))));
  const auto late = wait(ask("wt-alpha-app"));
  EXPECT_TRUE(std::holds_alternative<ProxyError>(late));
}

}  // namespace
}  // namespace hedge::proxy
