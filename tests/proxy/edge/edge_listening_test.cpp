#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "proxy/listening_sockets.h"
#include "proxy/port_holder.h"
#include "tests/support/open_descriptors.h"

namespace hedge::proxy {
namespace {

using config::SocketAddress;

ListenPlan plan_for(std::vector<SocketAddress> plain) {
  ListenPlan plan;
  plan.plain = std::move(plain);
  plan.tls.emplace();
  return plan;
}

TEST(ListeningSockets, OpenOneForEachWorkerOnThePortThatTheSystemChose) {
  ListenPlan plan = plan_for({{"127.0.0.1", 0}, {"::1", 0}});
  plan.workers = 3;
  const BoundAddresses bound = open_listening_sockets(plan).value();
  ASSERT_EQ(bound.addresses.size(), 2U);
  for (const BoundAddress& address : bound.addresses) {
    EXPECT_NE(address.address.port, 0);
    EXPECT_EQ(address.sockets.size(), 3U);
    EXPECT_EQ(address.kind, ListenerKind::plain);
  }
  EXPECT_TRUE(bound.notices.empty());
}

TEST(ListeningSockets, NameWhoHoldsThePort) {
  const BoundAddresses first = open_listening_sockets(plan_for({{"127.0.0.1", 0}})).value();
  const std::uint16_t port = first.addresses.front().address.port;
  const Result<BoundAddresses> second = open_listening_sockets(plan_for({{"127.0.0.1", port}}));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().id(), "port_in_use");
  EXPECT_EQ(second.error().kind(), ErrorKind::already_exists);
  EXPECT_NE(second.error().text().find("process " + std::to_string(::getpid())), std::string::npos)
      << second.error().text();
}

TEST(ListeningSockets, AreNotSharedQuietlyWithAnotherEdgeOfTheSameUser) {
  ListenPlan plan = plan_for({{"127.0.0.1", 0}});
  plan.workers = 2;  // these share the port among themselves
  const BoundAddresses first = open_listening_sockets(plan).value();
  EXPECT_FALSE(open_listening_sockets(plan_for({first.addresses.front().address})));
}

TEST(ListeningSockets, RefuseAnAddressThatIsNotOfThisMachine) {
  EXPECT_FALSE(open_listening_sockets(plan_for({{"192.0.2.1", 0}})));
}

TEST(ListeningSockets, LeaveNothingOpenAfterAFailure) {
  const std::size_t before = test::open_descriptors();
  EXPECT_FALSE(open_listening_sockets(plan_for({{"127.0.0.1", 0}, {"192.0.2.1", 0}})));
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(PortHolder, IsThisProcessWhileItListensAndNobodyAfterwards) {
  std::uint16_t port = 0;
  {
    const BoundAddresses bound = open_listening_sockets(plan_for({{"127.0.0.1", 0}})).value();
    port = bound.addresses.front().address.port;
    const std::optional<PortHolder> holder = find_port_holder(port);
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->pid, ::getpid());
    EXPECT_FALSE(holder->command.empty());
  }
  EXPECT_FALSE(find_port_holder(port));
}

// What an unprivileged process gets. Exit codes tell the parent, which may be root.
int open_standard_ports_as_nobody() {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return 10;
  ListenPlan plan;
  plan.plain_ports = {79, 0};  // 0: a free port in the place of 8080
  plan.tls.emplace();
  const Result<BoundAddresses> bound = open_listening_sockets(plan);
  if (!bound) return 11;
  if (bound->notices.size() != 1) return 12;
  for (const char* way : {"socket activation", "setcap", "sysctl"}) {
    if (bound->notices.front().find(way) == std::string::npos) return 13;
  }
  if (bound->addresses.empty() || bound->addresses.front().address.port <= 1023) return 14;
  const Result<BoundAddresses> given = open_listening_sockets(plan_for({{"127.0.0.1", 79}}));
  return !given && given.error().id() == "port_forbidden" ? 0 : 15;
}

TEST(ListeningSockets, FallBackWhenTheUserMayNotTakeTheStandardPortAndSayHowToGetIt) {
  const Result<std::string> first = read_file("/proc/sys/net/ipv4/ip_unprivileged_port_start");
  if (first && parse_number<int>(trim(*first)).value_or(1024) <= 79) {
    GTEST_SKIP() << "every user may take port 79 here (net.ipv4.ip_unprivileged_port_start)";
  }
  const pid_t child = ::fork();
  if (child == 0) ::_exit(open_standard_ports_as_nobody());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace hedge::proxy
