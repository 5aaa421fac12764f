#include "proxy/upstream/upstream_pools.h"

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/upstream/connector.h"
#include "proxy/upstream/resolver.h"
#include "tests/support/name_server.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/reactor_loop.h"
#include "tests/support/scripted_peer.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using test::pause_for;
using test::PeerConnection;
using test::ReactorLoop;
using test::ScriptedUpstream;

// Answers each line with the number of its connection.
void answer_with_number(PeerConnection& connection, int number) {
  while (connection.read_until("\n").ends_with('\n')) connection.send(std::to_string(number) + "\n");
}

router::Route route_to(router::Upstream upstream) {
  router::Route route;
  route.host = "alpha.dev.localhost";
  route.upstream = std::move(upstream);
  return route;
}

class PoolsTest : public ::testing::Test {
 protected:
  PoolsTest() {
    settings_.name_servers = {{"127.0.0.1", names_.port()}};
    settings_.limits.connect = 500ms;
    settings_.limits.resolve = 150ms;
    settings_.limits.resolve_ttl = 50ms;
    settings_.limits.resolve_failure_ttl = 20ms;
    open(4000ms);
  }

  void open(std::chrono::milliseconds idle_limit) {
    pools_.reset();
    resolver_ = std::make_unique<Resolver>(loop_.reactor(), settings_, nullptr, stats_);
    connector_ = std::make_unique<Connector>(loop_.reactor(), settings_, stats_);
    pools_ = std::make_unique<UpstreamPools>(loop_.reactor(), *resolver_, *connector_, idle_limit);
  }

  router::Route route() const { return route_to(router::TcpUpstream{"127.0.0.1", upstream_.port()}); }

  Task<void> lease_task(const router::Route& to, LeaseKind kind, LeaseResult& result) {
    UpstreamLease at_once;
    if (kind == LeaseKind::any) at_once = pools_->try_lease(to);
    if (at_once) {
      result = std::move(at_once);
      co_return;
    }
    result = co_await pools_->lease(to, kind);
  }
  Task<void> lease_beside(const router::Route& to, std::optional<LeaseResult>& result) {
    LeaseResult leased = co_await pools_->lease(to, LeaseKind::any);
    result = std::move(leased);
  }
  Task<void> wait_for(const std::optional<LeaseResult>& result) {
    while (!result) co_await pause_for(loop_.reactor(), 5ms);
  }
  LeaseResult lease(const router::Route& to, LeaseKind kind = LeaseKind::any) {
    LeaseResult result = ProxyError{};
    loop_.run(lease_task(to, kind, result));
    return result;
  }
  static UpstreamLease take(LeaseResult result) {
    EXPECT_TRUE(std::holds_alternative<UpstreamLease>(result));
    return std::get<UpstreamLease>(std::move(result));
  }

  Task<void> ask_task(ByteStream& stream, std::string& answer) {
    static_cast<void>(co_await stream.write("?\n"));
    std::array<char, 64> buffer{};
    const IoResult got = co_await stream.read_some(buffer);
    answer.assign(buffer.data(), got.bytes);
  }
  // The number of the connection that answers.
  std::string ask(UpstreamLease& lease) {
    std::string answer;
    loop_.run(ask_task(lease.stream(), answer));
    return answer;
  }
  void pause(std::chrono::milliseconds time) { loop_.run(pause_for(loop_.reactor(), time)); }

  test::NameServer names_;
  ScriptedUpstream upstream_{answer_with_number};
  ReactorLoop loop_;
  EdgeSettings settings_;
  WorkerStats stats_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<UpstreamPools> pools_;
};

TEST_F(PoolsTest, UsesAKeptConnectionAgain) {
  UpstreamLease first = take(lease(route()));
  EXPECT_FALSE(first.reused());
  EXPECT_EQ(ask(first), "0\n");
  first.keep();
  EXPECT_FALSE(first);
  UpstreamLease second = take(lease(route()));
  EXPECT_TRUE(second.reused());
  EXPECT_EQ(ask(second), "0\n");
  EXPECT_EQ(stats_.upstream_connects.value(), 1U);
}

TEST_F(PoolsTest, ClosesAConnectionThatIsNotKept) {
  take(lease(route())).drop();
  { UpstreamLease lost = take(lease(route())); }
  EXPECT_EQ(pools_->idle(), 0U);
  EXPECT_FALSE(take(lease(route())).reused());
}

TEST_F(PoolsTest, TakesTheConnectionThatCameBackLast) {
  UpstreamLease first = take(lease(route()));
  UpstreamLease second = take(lease(route()));
  EXPECT_EQ(ask(first), "0\n");
  EXPECT_EQ(ask(second), "1\n");
  second.keep();
  first.keep();
  UpstreamLease again = take(lease(route()));
  EXPECT_EQ(ask(again), "0\n");
}

// E-23: retries and upgrades never touch the pool
TEST_F(PoolsTest, E23_MakesAFreshConnectionWhereOneIsAskedFor) {
  UpstreamLease first = take(lease(route()));
  EXPECT_EQ(ask(first), "0\n");
  first.keep();
  UpstreamLease fresh = take(lease(route(), LeaseKind::fresh));
  EXPECT_FALSE(fresh.reused());
  EXPECT_EQ(ask(fresh), "1\n");
  EXPECT_EQ(pools_->idle(), 1U);
}

// E-14
TEST_F(PoolsTest, E14_DropsAnIdleConnectionThatTheUpstreamClosed) {
  ScriptedUpstream closing([](PeerConnection& connection, int number) {
    connection.read_until("\n");
    connection.send(std::to_string(number) + "\n");
    connection.read_until("close\n", 50ms);
  });
  const router::Route to = route_to(router::TcpUpstream{"127.0.0.1", closing.port()});
  UpstreamLease first = take(lease(to));
  EXPECT_EQ(ask(first), "0\n");
  first.keep();
  EXPECT_EQ(pools_->idle(), 1U);
  pause(150ms);  // the script ends after 50 ms and closes
  EXPECT_FALSE(take(lease(to)).reused());
}

Task<void> provoke(ByteStream& stream) {
  static_cast<void>(co_await stream.write("!\n"));
  static_cast<void>(co_await stream.readable());
}

TEST_F(PoolsTest, KeepsNoConnectionOnWhichSomethingFollowedTheResponse) {
  UpstreamLease first = take(lease(route()));
  EXPECT_EQ(ask(first), "0\n");
  loop_.run(provoke(first.stream()));  // nobody reads what comes
  first.keep();
  EXPECT_EQ(pools_->idle(), 0U);
}

TEST_F(PoolsTest, ClosesWhatWasIdleTooLong) {
  open(30ms);
  UpstreamLease first = take(lease(route()));
  first.keep();
  pause(50ms);
  EXPECT_FALSE(take(lease(route())).reused()) << "too old to be taken, also before the sweep";
  UpstreamLease second = take(lease(route()));
  second.keep();
  pause(50ms);
  pools_->sweep();
  EXPECT_EQ(pools_->idle(), 0U);
}

TEST_F(PoolsTest, HonoursAShorterLimitOfTheUpstream) {
  UpstreamLease first = take(lease(route()));
  first.keep(20ms);
  pause(40ms);
  EXPECT_FALSE(take(lease(route())).reused());
}

TEST_F(PoolsTest, KeepsAtMost64ForOneIdentity) {
  std::vector<UpstreamLease> leases;
  for (int i = 0; i < 70; ++i) leases.push_back(take(lease(route(), LeaseKind::fresh)));
  for (UpstreamLease& each : leases) each.keep();
  EXPECT_EQ(pools_->idle(), 64U);
}

// E-03
TEST_F(PoolsTest, E03_ClosesTheConnectionsOfAnIdentityThatIsGoneAndKeepsNoneOfThem) {
  UpstreamLease idle = take(lease(route()));
  UpstreamLease busy = take(lease(route()));
  const std::string identity = idle.identity();
  idle.keep();
  pools_->retire(identity);
  EXPECT_EQ(pools_->idle(), 0U);
  busy.keep();
  EXPECT_EQ(pools_->idle(), 0U);
  EXPECT_FALSE(take(lease(route())).reused());
}

TEST_F(PoolsTest, E03_KeepsNoConnectionOfAnEarlierLifeAlthoughTheIdentityIsBack) {
  UpstreamLease old = take(lease(route()));
  EXPECT_EQ(ask(old), "0\n");
  pools_->retire(old.identity());
  UpstreamLease back = take(lease(route()));
  EXPECT_EQ(ask(back), "1\n");
  old.keep();
  EXPECT_EQ(pools_->idle(), 0U);
  back.keep();
  EXPECT_EQ(pools_->idle(), 1U);
  UpstreamLease next = take(lease(route()));
  EXPECT_EQ(ask(next), "1\n");
}

// A listener whose queue is full: a connect to it stays under way until somebody accepts.
class FullListener {
 public:
  FullListener() {
    fd_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd_.get(), 0), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    filler_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(filler_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  std::uint16_t port() const { return port_; }
  // Within 10 s, or the test fails.
  UniqueFd accept() const {
    pollfd wait{fd_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, 10000), 1);
    return UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  UniqueFd fd_;
  UniqueFd filler_;
  std::uint16_t port_ = 0;
};

TEST_F(PoolsTest, E03_AConnectThatTheEndOfItsUpstreamOvertookIsMadeAgain) {
  settings_.limits.connect = 10s;
  open(4000ms);
  const FullListener listener;
  const router::Route route = route_to(router::TcpUpstream{"127.0.0.1", listener.port()});
  std::optional<LeaseResult> result;
  loop_.spawn(lease_beside(route, result));
  ASSERT_FALSE(result) << "the connect is under way";
  pools_->retire("127.0.0.1:" + std::to_string(listener.port()));
  std::array<UniqueFd, 3> accepted;  // what filled the queue, the overtaken connection, the used one
  std::thread acceptor([&listener, &accepted] {
    for (UniqueFd& each : accepted) each = listener.accept();
  });
  loop_.run(wait_for(result));
  acceptor.join();

  ASSERT_TRUE(std::holds_alternative<UpstreamLease>(*result));
  UpstreamLease lease = std::get<UpstreamLease>(std::move(*result));
  char byte = 0;
  EXPECT_EQ(::read(accepted[1].get(), &byte, 1), 0) << "the first connection was closed without a word";
  ASSERT_EQ(::write(accepted[2].get(), "!\n", 2), 2);
  EXPECT_EQ(ask(lease), "!\n") << "the second one is leased";
}

TEST_F(PoolsTest, ClosesEverythingForADrain) {
  UpstreamLease idle = take(lease(route()));
  UpstreamLease busy = take(lease(route()));
  idle.keep();
  pools_->close_idle();
  busy.keep();
  EXPECT_EQ(pools_->idle(), 0U);
}

// E-02
TEST_F(PoolsTest, E02_FollowsANameToItsNewAddressAlthoughTheOldConnectionLives) {
  names_.set("app.example.test", {{"127.0.0.1"}, {}});
  const router::Route to = route_to(router::DnsUpstream{"app.example.test", upstream_.port()});
  UpstreamLease first = take(lease(to));
  first.keep();
  UpstreamLease second = take(lease(to));
  EXPECT_TRUE(second.reused());
  second.keep();
  names_.set("app.example.test", {{"127.0.0.7"}, {}});
  pause(settings_.limits.resolve_ttl + 10ms);
  const LeaseResult result = lease(to);
  // Nothing listens on the new address; the old one would have answered.
  ASSERT_TRUE(std::holds_alternative<ProxyError>(result));
  EXPECT_EQ(std::get<ProxyError>(result).reason, ProxyReason::upstream_refused);
}

TEST_F(PoolsTest, StillUsesAConnectionThatStandsWhenTheNameServerFallsSilent) {
  names_.set("app.example.test", {{"127.0.0.1"}, {}});
  const router::Route to = route_to(router::DnsUpstream{"app.example.test", upstream_.port()});
  UpstreamLease first = take(lease(to));
  EXPECT_EQ(ask(first), "0\n");
  first.keep();
  names_.set("app.example.test", {{}, {}, true});
  pause(settings_.limits.resolve_ttl + 10ms);
  UpstreamLease second = take(lease(to));
  EXPECT_EQ(ask(second), "0\n");
}

TEST_F(PoolsTest, DoesNotUseItWhenTheNameNoLongerExists) {
  names_.set("app.example.test", {{"127.0.0.1"}, {}});
  const router::Route to = route_to(router::DnsUpstream{"app.example.test", upstream_.port()});
  UpstreamLease first = take(lease(to));
  first.keep();
  names_.remove("app.example.test");
  pause(settings_.limits.resolve_ttl + 10ms);
  const LeaseResult result = lease(to);
  ASSERT_TRUE(std::holds_alternative<ProxyError>(result));
  EXPECT_EQ(std::get<ProxyError>(result).reason, ProxyReason::upstream_unresolved);
}

TEST_F(PoolsTest, RefusesHttpsWhereThereIsNoTls) {
  router::Route to = route();
  to.protocol = router::Protocol::https;
  const LeaseResult result = lease(to);
  ASSERT_TRUE(std::holds_alternative<ProxyError>(result));
  EXPECT_EQ(std::get<ProxyError>(result).reason, ProxyReason::upstream_unsupported);
}

TEST_F(PoolsTest, ConnectsAnewForAnotherProtocolAlthoughAConnectionToTheSameAddressIsWarm) {
  UpstreamLease warm = take(lease(route()));
  EXPECT_EQ(ask(warm), "0\n");
  warm.keep();
  router::Route to = route();
  to.protocol = router::Protocol::https;
  EXPECT_FALSE(pools_->try_lease(to));
  EXPECT_TRUE(std::holds_alternative<ProxyError>(lease(to)));
  to.protocol = router::Protocol::h2c;
  EXPECT_FALSE(pools_->try_lease(to));
  EXPECT_FALSE(take(lease(to)).reused());
  EXPECT_EQ(pools_->idle(), 1U);
}

TEST_F(PoolsTest, MeasuresConnectingOnlyWhereItConnected) {
  UpstreamLease first = take(lease(route()));
  EXPECT_GT(first.timings().connect.count(), 0);
  first.keep();
  EXPECT_EQ(take(lease(route())).timings().connect.count(), 0);
}

TEST_F(PoolsTest, LeavesNoDescriptorBehind) {
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 50; ++i) {
    UpstreamLease each = take(lease(route()));
    if (i % 2 == 0) each.keep();
  }
  pools_.reset();
  // The upstream's ends open and close a moment later, in its own threads: first all of them open.
  const int connects = static_cast<int>(stats_.upstream_connects.value());
  ASSERT_TRUE(upstream_.wait_until([&](const std::string&, int accepted) { return accepted == connects; }));
  const auto limit = std::chrono::steady_clock::now() + 10s;
  while (test::open_descriptors() > before && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
  EXPECT_LE(test::open_descriptors(), before);
}

}  // namespace
}  // namespace hedge::proxy
