#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "proxy/listening_sockets.h"
#include "proxy/port_holder.h"
#include "proxy/remembered_ports.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/temporary_directory.h"

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

TEST(PortHolder, IsThisProcessAloneWhereNobodyElseIsInTheWay) {
  const auto opened = open_listening_sockets(plan_for({{"127.0.0.1", 0}}));
  ASSERT_TRUE(opened);
  const std::uint16_t port = opened->addresses[0].address.port;
  EXPECT_TRUE(is_held_by_this_process("127.0.0.1", port));
  EXPECT_TRUE(is_held_by_this_process("0.0.0.0", port));
  EXPECT_FALSE(is_held_by_this_process("127.0.0.2", port)) << "nobody is in the way there";
  EXPECT_FALSE(is_held_by_this_process("::1", port));
  EXPECT_FALSE(is_held_by_this_process("no address", port));

  // Another process listens on another address of the same port.
  auto theirs = open_listening_sockets(plan_for({{"127.0.0.2", port}}));
  ASSERT_TRUE(theirs);
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  theirs->addresses.clear();
  EXPECT_FALSE(is_held_by_this_process("127.0.0.2", port));
  EXPECT_FALSE(is_held_by_this_process("0.0.0.0", port)) << "this process is in the way, but not alone";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
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

// The port that an earlier start took is `remembered`; it is free at first, then taken.
int open_remembered_port_as_nobody(std::uint16_t remembered) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return 10;
  ListenPlan plan;
  plan.plain_ports = {79, 0, remembered};
  plan.tls.emplace();
  const Result<BoundAddresses> again = open_listening_sockets(plan);
  if (!again || again->addresses.front().address.port != remembered) return 11;
  if (again->notices.front().find("port " + std::to_string(remembered)) == std::string::npos) return 12;
  const Result<BoundAddresses> taken = open_listening_sockets(plan);
  if (!taken || taken->addresses.front().address.port == remembered) return 13;
  plan.tls_ports.fallback = remembered;  // the other kind's own
  plan.plain_ports.remembered = remembered;
  return open_listening_sockets(plan) ? 0 : 14;
}

// What a child process that `run` is called in exits with.
int exit_code_of(const std::function<int()>& run) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool may_take_port_79() {
  const Result<std::string> first = read_file("/proc/sys/net/ipv4/ip_unprivileged_port_start");
  return first && parse_number<int>(trim(*first)).value_or(1024) <= 79;
}

TEST(ListeningSockets, FallBackWhenTheUserMayNotTakeTheStandardPortAndSayHowToGetIt) {
  if (may_take_port_79()) {
    GTEST_SKIP() << "every user may take port 79 here (net.ipv4.ip_unprivileged_port_start)";
  }
  EXPECT_EQ(exit_code_of(open_standard_ports_as_nobody), 0);
}

TEST(ListeningSockets, FallBackToThePortOfTheLastStartWhileItIsFree) {
  if (may_take_port_79()) {
    GTEST_SKIP() << "every user may take port 79 here (net.ipv4.ip_unprivileged_port_start)";
  }
  // Free in both families, and below the ports that the system hands out to others meanwhile.
  std::uint16_t port = 20'000;
  while (port < 20'100 && !open_listening_sockets(plan_for({{"127.0.0.1", port}, {"::1", port}}))) ++port;
  EXPECT_EQ(exit_code_of([port] { return open_remembered_port_as_nobody(port); }), 0);
}

class RememberedPortsTest : public ::testing::Test {
 protected:
  void write(const std::string& text) { ASSERT_TRUE(write_file_atomically(file(), text, 0600)); }
  RememberedPorts load() const { return load_remembered_ports(file()); }
  std::filesystem::path file() const { return directory_ / "edge.json"; }
  test::TemporaryDirectory directory_;
};

TEST_F(RememberedPortsTest, AreReadAsTheyWereWritten) {
  ASSERT_TRUE(remember_ports(file(), {8080, 8443}));
  EXPECT_EQ(load().plain, 8080);
  EXPECT_EQ(load().tls, 8443);
}

TEST_F(RememberedPortsTest, AreNoneWhereTheFileSaysNone) {
  EXPECT_EQ(load().plain, 0) << "there is no file";
  for (const std::string text : {"", "8080", "[8080]", "{", "{}", R"({"http_port": "8080"})",
                                 R"({"http_port": -1})", R"({"http_port": 65536})", R"({"http_port": 1.5})"}) {
    write(text);
    EXPECT_EQ(load().plain, 0) << text;
    EXPECT_EQ(load().tls, 0) << text;
  }
  write(R"({"http_port": null, "https_port": 8443})");
  EXPECT_EQ(load().plain, 0);
  EXPECT_EQ(load().tls, 8443) << "each for itself";
}

}  // namespace
}  // namespace hedge::proxy
