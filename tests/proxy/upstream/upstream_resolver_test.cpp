#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/upstream/ares_channel.h"
#include "proxy/upstream/resolver.h"
#include "tests/support/name_server.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/reactor_loop.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using test::NameServer;
using test::pause_for;
using test::ReactorLoop;

const router::Upstream kDns = router::DnsUpstream{"app.example.test", 8000};
const router::Upstream kDocker = router::DockerUpstream{"wt-alpha-app", 8000};

// A container engine that says what the test wants, when the test wants it.
class FakeSource final : public UpstreamSource {
 public:
  void resolve(const router::DockerUpstream& upstream, std::function<void(UpstreamAnswer)> reply) override {
    ++questions;
    if (answers_at_once) {
      reply(container("id-" + std::to_string(questions) + upstream.selector));
    } else {
      waiting.push_back(std::move(reply));
    }
  }
  static UpstreamAnswer container(const std::string& identity) {
    auto upstream = std::make_shared<ResolvedUpstream>();
    upstream->identity = identity;
    upstream->endpoints = {Endpoint::from_ip("127.0.0.1", 8000).value()};
    return ResolvedUpstreamPtr(std::move(upstream));
  }
  int questions = 0;
  bool answers_at_once = true;
  std::vector<std::function<void(UpstreamAnswer)>> waiting;
};

class ResolverTest : public ::testing::Test {
 protected:
  ResolverTest() {
    settings_.name_servers = {{"127.0.0.1", names_.port()}};
    settings_.limits.resolve = 300ms;
    settings_.limits.resolve_ttl = 200ms;
    settings_.limits.resolve_failure_ttl = 60ms;
    resolver_ = std::make_unique<Resolver>(loop_.reactor(), settings_, &source_, stats_);
  }

  Task<void> resolve_task(const router::Upstream& upstream, UpstreamAnswer& answer) {
    Resolution resolution = co_await resolver_->resolve(upstream);
    answer = std::move(resolution.answer);
  }
  UpstreamAnswer resolve(const router::Upstream& upstream) {
    UpstreamAnswer answer;
    loop_.run(resolve_task(upstream, answer));
    return answer;
  }
  void pause(std::chrono::milliseconds time) { loop_.run(pause_for(loop_.reactor(), time)); }

  static std::string identity(const UpstreamAnswer& answer) {
    const auto* found = std::get_if<ResolvedUpstreamPtr>(&answer);
    return found == nullptr || *found == nullptr ? "none" : (*found)->identity;
  }
  static ProxyReason reason(const UpstreamAnswer& answer) {
    const auto* error = std::get_if<ProxyError>(&answer);
    return error == nullptr ? ProxyReason::internal : error->reason;
  }

  NameServer names_;
  FakeSource source_;
  ReactorLoop loop_;
  EdgeSettings settings_;
  WorkerStats stats_;
  std::unique_ptr<Resolver> resolver_;
};

TEST_F(ResolverTest, AsksNobodyForAddressesAndSockets) {
  EXPECT_EQ(identity(resolve(router::TcpUpstream{"127.0.0.1", 80})), "127.0.0.1:80");
  EXPECT_EQ(identity(resolve(router::TcpUpstream{"::1", 80})), "[::1]:80");
  EXPECT_EQ(identity(resolve(router::UnixUpstream{"/run/app.sock"})), "/run/app.sock");
  EXPECT_EQ(stats_.resolves.value(), 0U);
  EXPECT_TRUE(names_.names_asked().empty());
}

TEST_F(ResolverTest, FindsAllAddressesOfANameIpv4First) {
  names_.set("app.example.test", {{"127.0.0.2", "127.0.0.3"}, {"::1"}});
  const UpstreamAnswer answer = resolve(kDns);
  ASSERT_EQ(identity(answer), "127.0.0.2:8000,127.0.0.3:8000,[::1]:8000");
  EXPECT_EQ(std::get<ResolvedUpstreamPtr>(answer)->endpoints.size(), 3U);
}

// Servers rotate the addresses; the pools must not be split by that.
TEST_F(ResolverTest, NamesTheSameAddressesTheSameInWhateverOrderTheyCome) {
  names_.set("app.example.test", {{"127.0.0.3", "127.0.0.2"}, {}});
  const UpstreamAnswer answer = resolve(kDns);
  EXPECT_EQ(identity(answer), "127.0.0.2:8000,127.0.0.3:8000");
  const auto& upstream = *std::get<ResolvedUpstreamPtr>(answer);
  EXPECT_EQ(upstream.endpoints.front().to_string(), "127.0.0.3:8000") << "tried in the server's order";
  EXPECT_EQ(upstream.description, "app.example.test:8000 (127.0.0.3:8000,127.0.0.2:8000)");
}

// What the hosts file says is there at once.
TEST_F(ResolverTest, AnAnswerThatIsReadyDoesNotWaitForTheNextQuestion) {
  names_.set("silent.example.test", {{}, {}, true});
  auto channel = AresChannel::create(loop_.reactor(), settings_.name_servers).value();
  DnsStatus local = DnsStatus::no_answer;
  channel->find_addresses("localhost", 30s, [&local](const DnsAnswer& found) { local = found.status; });
  channel->find_addresses("silent.example.test", 30s, [](const DnsAnswer& /*found*/) {});
  EXPECT_EQ(local, DnsStatus::no_answer) << "not from inside the call";
  pause(50ms);
  EXPECT_EQ(local, DnsStatus::found);
}

TEST_F(ResolverTest, AsksForTheNameAsItIsAndForNoOther) {
  EXPECT_EQ(reason(resolve(kDns)), ProxyReason::upstream_unresolved);
  EXPECT_EQ(names_.names_asked(), std::vector<std::string>{"app.example.test"});
}

Task<void> resolve_into(Resolver& resolver, const router::Upstream& upstream, int& answered) {
  const Resolution resolution = co_await resolver.resolve(upstream);
  if (std::holds_alternative<ResolvedUpstreamPtr>(resolution.answer)) ++answered;
}

TEST_F(ResolverTest, SharesOneQueryAmongAllWhoNeedTheNameAtOnce) {
  names_.set("app.example.test", {{"127.0.0.2"}, {}});
  int answered = 0;
  for (int i = 0; i < 50; ++i) loop_.spawn(resolve_into(*resolver_, kDns, answered));
  loop_.run(resolve_into(*resolver_, kDns, answered));
  EXPECT_EQ(answered, 51);
  EXPECT_EQ(names_.questions("app.example.test"), 1);
  EXPECT_EQ(stats_.resolves.value(), 1U);
}

// E-02
TEST_F(ResolverTest, E02_UsesAnAnswerNoLongerThanItsOwnLimitWhateverTheServerSays) {
  names_.set("app.example.test", {{"127.0.0.2"}, {}});
  EXPECT_EQ(identity(resolve(kDns)), "127.0.0.2:8000");
  names_.set("app.example.test", {{"127.0.0.9"}, {}});
  EXPECT_EQ(identity(resolve(kDns)), "127.0.0.2:8000") << "within the limit";
  pause(settings_.limits.resolve_ttl + 10ms);
  EXPECT_EQ(identity(resolve(kDns)), "127.0.0.9:8000");
  EXPECT_EQ(names_.questions("app.example.test"), 2);
}

TEST_F(ResolverTest, RemembersAFailureOnlyForAMoment) {
  EXPECT_EQ(reason(resolve(kDns)), ProxyReason::upstream_unresolved);
  names_.set("app.example.test", {{"127.0.0.2"}, {}});
  EXPECT_EQ(reason(resolve(kDns)), ProxyReason::upstream_unresolved);
  EXPECT_EQ(names_.questions("app.example.test"), 1);
  pause(settings_.limits.resolve_failure_ttl + 10ms);
  EXPECT_EQ(identity(resolve(kDns)), "127.0.0.2:8000");
}

TEST_F(ResolverTest, GivesUpAServerThatNeverAnswersForEverybodyWhoWaits) {
  names_.set("app.example.test", {{}, {}, true});
  int answered = 0;
  for (int i = 0; i < 10; ++i) loop_.spawn(resolve_into(*resolver_, kDns, answered));
  const UpstreamAnswer answer = resolve(kDns);
  EXPECT_EQ(answered, 0);
  EXPECT_EQ(reason(answer), ProxyReason::upstream_unresolved);
}

TEST_F(ResolverTest, DoesNotWaitForIpv6ThatNeverComes) {
  settings_.limits.resolve = 30s;
  names_.set("app.example.test", {{"127.0.0.2"}, {}, false, true});
  EXPECT_EQ(identity(resolve(kDns)), "127.0.0.2:8000");
}

TEST_F(ResolverTest, ServesOtherNamesWhileOneIsSilent) {
  settings_.limits.resolve = 400ms;
  names_.set("silent.example.test", {{}, {}, true});
  names_.set("app.example.test", {{"127.0.0.2"}, {}});
  const router::Upstream silent = router::DnsUpstream{"silent.example.test", 80};
  int unanswered = 0;
  loop_.spawn(resolve_into(*resolver_, silent, unanswered));
  EXPECT_EQ(identity(resolve(kDns)), "127.0.0.2:8000");
  pause(500ms);  // lets the silent one end
  EXPECT_EQ(unanswered, 0);
}

TEST_F(ResolverTest, AsksTheContainerEngineAndUsesItsIdentity) {
  EXPECT_EQ(identity(resolve(kDocker)), "id-1wt-alpha-app");
  EXPECT_EQ(identity(resolve(kDocker)), "id-1wt-alpha-app");
  EXPECT_EQ(source_.questions, 1);
}

// E-03
TEST_F(ResolverTest, E03_AsksTheEngineAnewWhenItSaidThatSomethingChanged) {
  resolve(kDocker);
  resolver_->forget_docker_answers();
  EXPECT_EQ(identity(resolve(kDocker)), "id-2wt-alpha-app");
}

TEST_F(ResolverTest, GivesUpAnEngineThatNeverRepliesAndIgnoresALateReply) {
  source_.answers_at_once = false;
  EXPECT_EQ(reason(resolve(kDocker)), ProxyReason::engine_unresponsive);
  ASSERT_EQ(source_.waiting.size(), 1U);
  source_.waiting.front()(FakeSource::container("late"));
  pause(settings_.limits.resolve_failure_ttl + 10ms);
  source_.answers_at_once = true;
  EXPECT_EQ(identity(resolve(kDocker)), "id-2wt-alpha-app");
}

TEST_F(ResolverTest, SaysThatThereIsNoEngineWhereNoneIsConfigured) {
  Resolver without(loop_.reactor(), settings_, nullptr, stats_);
  resolver_.reset();
  int answered = 0;
  loop_.run(resolve_into(without, kDocker, answered));
  EXPECT_EQ(answered, 0);
}

TEST_F(ResolverTest, ForgetsAnswersThatNobodyMayUse) {
  resolve(kDocker);
  resolver_->sweep();
  EXPECT_EQ(resolver_->known(), 1U);
  pause(settings_.limits.resolve_ttl + 10ms);
  resolver_->sweep();
  EXPECT_EQ(resolver_->known(), 0U);
}

TEST_F(ResolverTest, LeavesNoDescriptorBehind) {
  names_.set("app.example.test", {{"127.0.0.2"}, {}});
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 20; ++i) {
    resolver_ = std::make_unique<Resolver>(loop_.reactor(), settings_, &source_, stats_);
    EXPECT_EQ(identity(resolve(kDns)), "127.0.0.2:8000");
  }
  resolver_.reset();
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace hedge::proxy
