#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "proxy/upstream/connector.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/reactor_loop.h"
#include "tests/support/temporary_directory.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using test::ReactorLoop;

UniqueFd listen_on(const Endpoint& endpoint, int backlog = 8) {
  UniqueFd socket(::socket(endpoint.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(socket.get(), endpoint.address(), endpoint.length()), 0) << std::strerror(errno);
  EXPECT_EQ(::listen(socket.get(), backlog), 0);
  return socket;
}

Endpoint local_address_of(const UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return Endpoint::from_ip("127.0.0.1", ntohs(address.sin_port)).value();
}

// An address that answers no SYN: a listener whose queue is full.
class SilentAddress {
 public:
  SilentAddress() : listener_(listen_on(Endpoint::from_ip("127.0.0.1", 0).value(), 0)) {
    for (int i = 0; i < 4; ++i) {
      UniqueFd filler(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const Endpoint to = endpoint();
      EXPECT_NE(::connect(filler.get(), to.address(), to.length()), 0);
      fillers_.push_back(std::move(filler));
    }
  }
  Endpoint endpoint() const { return local_address_of(listener_); }

 private:
  UniqueFd listener_;
  std::vector<UniqueFd> fillers_;
};

// A port that refuses: bound once, closed since.
Endpoint refusing_endpoint() {
  return local_address_of(listen_on(Endpoint::from_ip("127.0.0.1", 0).value()));
}

ResolvedUpstream upstream_at(std::vector<Endpoint> endpoints) {
  ResolvedUpstream upstream;
  upstream.identity = endpoints.front().to_string();
  upstream.description = "container alpha (" + upstream.identity + ")";
  upstream.endpoints = std::move(endpoints);
  return upstream;
}

class ConnectorTest : public ::testing::Test {
 protected:
  ConnectorTest() {
    settings_.limits.connect = 300ms;
    settings_.limits.connect_stagger = 20ms;
  }

  Task<void> connect_task(const ResolvedUpstream& upstream, ConnectResult& result) {
    Connector connector(loop_.reactor(), settings_, stats_);
    result = co_await connector.connect(upstream);
  }
  ConnectResult connect(std::vector<Endpoint> endpoints) {
    const ResolvedUpstream upstream = upstream_at(std::move(endpoints));
    ConnectResult result = ProxyError{};
    loop_.run(connect_task(upstream, result));
    return result;
  }
  static const ProxyError& error_of(const ConnectResult& result) { return std::get<ProxyError>(result); }

  ReactorLoop loop_;
  EdgeSettings settings_;
  WorkerStats stats_;
};

TEST_F(ConnectorTest, ConnectsToAnAddressThatListens) {
  const UniqueFd listener = listen_on(Endpoint::from_ip("127.0.0.1", 0).value());
  const ConnectResult result = connect({local_address_of(listener)});
  EXPECT_TRUE(std::holds_alternative<std::unique_ptr<SocketStream>>(result));
  EXPECT_EQ(stats_.upstream_connects.value(), 1U);
}

TEST_F(ConnectorTest, ConnectsToAUnixSocket) {
  const test::TemporaryDirectory directory;
  const Endpoint endpoint = Endpoint::from_unix_path((directory / "app.sock").string()).value();
  const UniqueFd listener = listen_on(endpoint);
  EXPECT_TRUE(std::holds_alternative<std::unique_ptr<SocketStream>>(connect({endpoint})));
}

// E-39
TEST_F(ConnectorTest, E39_SaysThatNothingListensAndWhatToChange) {
  const ConnectResult result = connect({refusing_endpoint()});
  EXPECT_EQ(error_of(result).reason, ProxyReason::upstream_refused);
  EXPECT_NE(error_of(result).detail.find("container alpha"), std::string::npos);
  EXPECT_NE(error_of(result).fix.find("0.0.0.0"), std::string::npos);
}

TEST_F(ConnectorTest, SaysThatASocketFileIsMissing) {
  const ConnectResult result = connect({Endpoint::from_unix_path("/nonexistent/app.sock").value()});
  EXPECT_EQ(error_of(result).reason, ProxyReason::upstream_refused);
  EXPECT_NE(error_of(result).detail.find("no socket"), std::string::npos);
}

// E-39
TEST_F(ConnectorTest, E39_GivesUpASilentAddressAfterTheLimit) {
  const SilentAddress silent;
  const ConnectResult result = connect({silent.endpoint()});
  EXPECT_EQ(error_of(result).reason, ProxyReason::upstream_timeout);
  EXPECT_EQ(error_of(result).status(), 504U);
}

TEST_F(ConnectorTest, TriesTheNextAddressBesideASilentOne) {
  settings_.limits.connect = 60s;  // only the stagger can help
  const SilentAddress silent;
  const UniqueFd listener = listen_on(Endpoint::from_ip("127.0.0.1", 0).value());
  const ConnectResult result = connect({silent.endpoint(), silent.endpoint(), local_address_of(listener)});
  EXPECT_TRUE(std::holds_alternative<std::unique_ptr<SocketStream>>(result));
}

TEST_F(ConnectorTest, GoesOnAtOnceAfterARefusal) {
  settings_.limits.connect_stagger = 60s;
  settings_.limits.connect = 60s;
  const UniqueFd listener = listen_on(Endpoint::from_ip("127.0.0.1", 0).value());
  const ConnectResult result = connect({refusing_endpoint(), local_address_of(listener)});
  EXPECT_TRUE(std::holds_alternative<std::unique_ptr<SocketStream>>(result));
}

TEST_F(ConnectorTest, TheLimitCoversAllAddresses) {
  const SilentAddress silent;
  const ConnectResult result = connect({silent.endpoint(), silent.endpoint(), silent.endpoint()});
  EXPECT_EQ(error_of(result).reason, ProxyReason::upstream_timeout);
}

TEST_F(ConnectorTest, TellsTheLastReasonWhenEveryAddressRefuses) {
  const ConnectResult result = connect({refusing_endpoint(), refusing_endpoint()});
  EXPECT_EQ(error_of(result).reason, ProxyReason::upstream_refused);
}

TEST_F(ConnectorTest, ClosesTheLosersOfTheRace) {
  const SilentAddress silent;
  const UniqueFd listener = listen_on(Endpoint::from_ip("127.0.0.1", 0).value());
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(connect({silent.endpoint(), local_address_of(listener)}).index() == 0);
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(ConnectErrors, HaveTheirReasons) {
  const ResolvedUpstream upstream = upstream_at({Endpoint::from_ip("::1", 80).value()});
  EXPECT_EQ(connect_error(EHOSTUNREACH, upstream).reason, ProxyReason::upstream_unreachable);
  EXPECT_EQ(connect_error(ENETUNREACH, upstream).reason, ProxyReason::upstream_unreachable);
  EXPECT_EQ(connect_error(EACCES, upstream).reason, ProxyReason::upstream_unreachable);
  EXPECT_EQ(connect_error(EMFILE, upstream).reason, ProxyReason::overloaded);
  EXPECT_EQ(connect_error(EAGAIN, upstream).reason, ProxyReason::upstream_refused);
}

TEST(EndpointText, IsWhatPeopleWrite) {
  EXPECT_EQ(Endpoint::from_ip("127.0.0.1", 80)->to_string(), "127.0.0.1:80");
  EXPECT_EQ(Endpoint::from_ip("::1", 8080)->to_string(), "[::1]:8080");
  EXPECT_EQ(Endpoint::from_unix_path("/run/app.sock")->to_string(), "/run/app.sock");
  EXPECT_FALSE(Endpoint::from_ip("localhost", 80));
  EXPECT_FALSE(Endpoint::from_unix_path(std::string(108, 'x')));
  EXPECT_TRUE(Endpoint::from_unix_path(std::string(107, 'x')));
  EXPECT_FALSE(Endpoint::from_unix_path(""));
}

}  // namespace
}  // namespace hedge::proxy
