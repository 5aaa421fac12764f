#include "proxy/control/docker_engine.h"

#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/proxy/control/docker_engine_fixture.h"
#include "tests/support/scripted_peer.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using test::DockerEngineTest;
using test::kLimit;
using Mode = test::FakeEngine::Mode;

TEST_F(DockerEngineTest, FindsAContainerByNameIdAndLabels) {
  fake_.start();
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  EXPECT_EQ(resolve("alpha-id-000000"), "172.18.0.4:8000");
  EXPECT_EQ(resolve("alpha-id-0000", 80), "172.18.0.4:80")
      << "the beginning of an id, as docker ps prints it";
  EXPECT_EQ(resolve("app=shop,wt=beta"), "172.18.0.5:8000");
}

// An engine that listens on TCP: its one container publishes port 8000 on every address.
class TcpEngine {
 public:
  std::string address() const { return "tcp://127.0.0.1:" + std::to_string(peer_.port()); }

 private:
  static void answer(test::PeerConnection& connection, int /*number*/) {
    const std::string request = connection.read_head();
    const std::string body =
        request.find("/containers/app/json") == std::string::npos
            ? "OK"
            : R"({"Id": "app-id-00000000", "Name": "/app", "State": {"Status": "running"}, "NetworkSettings": {
                "Ports": {"8000/tcp": [{"HostIp": "0.0.0.0", "HostPort": "32768"}]},
                "Networks": {"edge": {"NetworkID": "edge-id", "IPAddress": "172.18.0.4"}}}})";
    connection.send("HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nConnection: close\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  test::ScriptedUpstream peer_{&answer};
};

TEST_F(DockerEngineTest, AnEngineOnThisMachineIsReachedAsOnASocket) {
  const TcpEngine remote;
  options_.docker_host = remote.address();
  EXPECT_EQ(resolve("app"), "172.18.0.4:8000");
}

TEST_F(DockerEngineTest, WhatAnEngineOnAnotherMachinePublishesIsPublishedThere) {
  const TcpEngine remote;
  options_.docker_host = remote.address();
  options_.is_own_address = [](const std::string&) { return false; };
  options_.place.is_connected = [](const std::string& ip) { return ip == "172.18.0.4"; };
  EXPECT_EQ(resolve("app"), "127.0.0.1:32768") << "the engine's address, not the container's";
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
    const bool is_ready =
        ::geteuid() == 0 ? ::setuid(kNobody) == 0 : ::chmod(directory_.path().c_str(), 0) == 0;
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
  for (auto& answer : answers)
    EXPECT_TRUE(std::holds_alternative<ResolvedUpstreamPtr>(wait(std::move(answer))));
  EXPECT_EQ(fake_.requests_for("/containers/wt-beta-app"), 1);
}

TEST_F(DockerEngineTest, LabelsThatAreNoTextAreInNoContainer) {
  fake_.start();
  EXPECT_EQ(resolve("app=\xff"), "upstream_unresolved");
  EXPECT_EQ(resolve("app=\xff"), "upstream_unresolved") << "and asking does not wait for ever";
}

TEST_F(DockerEngineTest, ABugWhileAskingIsAnAnswerAndNotTheLast) {
  fake_.start();
  options_.failure_ttl = 0ms;
  options_.place.is_connected = [calls = 0](const std::string&) mutable -> bool {
    if (++calls == 1) throw std::runtime_error("a bug");
    return true;
  };
  EXPECT_EQ(resolve("wt-alpha-app"), "engine_unresponsive");
  EXPECT_NE(last_error_.detail.find("a bug"), std::string::npos) << last_error_.detail;
  EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
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

TEST_F(DockerEngineTest, InAContainerTheEdgesOwnNetworksAreAskedForOnce) {
  options_.resolve_ttl = 0ms;
  options_.own_container = "edge-container-id";
  fake_.put({"edge-container-id", "edge", "running", {}, {{"edge", "172.18.0.2"}}});
  fake_.put(
      {"both-id-00000000", "both", "running", {}, {{"aa-private", "172.20.0.2"}, {"edge", "172.18.0.7"}}});
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
