// What events of the engine, and their absence, do to answers and identities.
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/proxy/control/docker_engine_fixture.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using DockerEventStreamTest = test::DockerEngineTest;

TEST_F(DockerEventStreamTest, E02_AStartMakesAnswersBeAskedForAnew) {
  options_.resolve_ttl = 1h;
  fake_.start();
  begin_watching();
  ASSERT_EQ(resolve("wt-alpha-app"), "172.18.0.4:8000");
  fake_.put({"alpha-id-000000", "wt-alpha-app", "running", {}, {{"edge", "172.18.0.77"}}});
  for (const auto& [type, action] :
       std::vector<std::pair<std::string, std::string>>{{"container", "start"},
                                                        {"network", "connect"},
                                                        {"container", "unpause"},
                                                        {"container", "rename"}}) {
    const int before = events_.count("changed");
    const int asked = fake_.requests_for("/containers/wt-alpha-app");
    fake_.emit(type, action, "alpha-id-000000");
    ASSERT_TRUE(events_.wait_for("changed", before + 1)) << action;
    EXPECT_EQ(resolve("wt-alpha-app"), "172.18.0.77:8000");
    EXPECT_EQ(fake_.requests_for("/containers/wt-alpha-app"), asked + 1) << action;
  }
}

TEST_F(DockerEventStreamTest, E03_AnEndDrainsTheContainersIdentitiesAndNoOther) {
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

TEST_F(DockerEventStreamTest, E03_AnAnswerThatAnEventOvertookIsAskedForAgain) {
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

TEST_F(DockerEventStreamTest, EventsArriveInWhateverPiecesTheyAreSent) {
  fake_.start();
  begin_watching();
  const int before = events_.count("changed");
  const std::string start = R"({"Type":"container","Action":"start","Actor":{"ID":"x","Attributes":{}}})"
                            "\n";
  fake_.emit_raw("\n\r\nnot json\n{}\n[1]\n{\"Type\":\"image\",\"Action\":\"pull\"}\n" + start + start +
                 start.substr(0, 20));
  EXPECT_TRUE(events_.wait_for("changed", before + 2));
  fake_.emit_raw(start.substr(20));
  EXPECT_TRUE(events_.wait_for("changed", before + 3));
  EXPECT_EQ(fake_.requests_for("/events"), 1) << "one stream all the while";
}

TEST_F(DockerEventStreamTest, ABugWhileAnEventIsHandledDoesNotEndTheWatch) {
  fake_.start();
  begin_watching();
  events_.failures = 1;
  fake_.emit("container", "start", "beta-id-0000000");
  ASSERT_TRUE(fake_.wait_for_streams(2)) << "opened again";
  ASSERT_TRUE(events_.wait_for("changed", 3));
  fake_.emit("container", "start", "beta-id-0000000");
  EXPECT_TRUE(events_.wait_for("changed", 4)) << "and followed";
}

TEST_F(DockerEventStreamTest, ALineWithoutAnEndEndsTheStreamNotTheMemory) {
  fake_.start();
  begin_watching();
  const std::string piece(256 * 1024, 'x');
  for (int i = 0; i < 5; ++i) fake_.emit_raw(piece);
  EXPECT_TRUE(fake_.wait_for_streams(2));
}

TEST_F(DockerEventStreamTest, ALostStreamIsOpenedAgainAndNothingFromBeforeIsTrusted) {
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

TEST_F(DockerEventStreamTest, TheLastGoodAnswersStayUsableWhileTheEngineIsAway) {
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

TEST_F(DockerEventStreamTest, AnEndedContainerIsNoLastGoodAnswer) {
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

}  // namespace
}  // namespace hedge::proxy
