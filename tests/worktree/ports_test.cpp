#include "worktree/ports.h"

#include <optional>
#include <set>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temporary_directory.h"
#include "worktree/registry.h"

namespace hedge::worktree {
namespace {

// Listens on 127.0.0.1 at `port` until it is destroyed.
UniqueFd listen_on(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), 1) != 0) {
    ADD_FAILURE() << "cannot listen on " << port;
  }
  return fd;
}

class PortsTest : public ::testing::Test {
 protected:
  PortsTest() {
    paths_.state = directory_ / "state";
    auto opened = StateDatabase::open(paths_);
    EXPECT_TRUE(opened);
    state_.emplace(std::move(*opened));
    registry_.emplace(*state_, clock_);
  }

  std::string worktree(const std::string& branch) {
    Birth birth;
    birth.app = "shop";
    birth.branch = branch;
    birth.repository = "/srv/shop/.git";
    birth.main_checkout = "/srv/shop";
    return registry_->admit(birth)->id;
  }

  hedge::test::TemporaryDirectory directory_;
  config::Paths paths_;
  hedge::test::FakeClock clock_;
  std::optional<StateDatabase> state_;
  std::optional<Registry> registry_;
};

TEST_F(PortsTest, AreKeptAndNeverShared) {
  Ports ports(*state_);
  std::set<std::uint16_t> seen;
  for (int i = 0; i < 20; ++i) {
    const auto id = worktree("b" + std::to_string(i));
    const auto given = ports.ensure(id, {"web", "worker"});
    ASSERT_TRUE(given);
    for (const auto& [service, port] : *given) {
      EXPECT_TRUE(seen.insert(port).second);
      EXPECT_GE(port, kFirstPort);
      EXPECT_LE(port, kLastPort);
    }
    EXPECT_EQ(*ports.ensure(id, {"web", "worker"}), *given);
    EXPECT_EQ(*ports.load(id), *given);
  }
}

TEST_F(PortsTest, ALaterServiceGetsItsOwnAndTheOthersStay) {
  Ports ports(*state_);
  const auto id = worktree("x");
  const auto before = *ports.ensure(id, {"web"});
  const auto after = *ports.ensure(id, {"web", "mail"});
  EXPECT_EQ(after.at("web"), before.at("web"));
  EXPECT_EQ(after.size(), 2U);
}

TEST_F(PortsTest, AProposalRecordsNothing) {
  Ports ports(*state_);
  const auto id = worktree("x");
  EXPECT_EQ(ports.propose(id, {"web"})->size(), 1U);
  EXPECT_TRUE(ports.load(id)->empty());
}

TEST_F(PortsTest, OneThatSomebodyListensOnIsNotGiven) {
  Ports ports(*state_);
  const auto id = worktree("x");
  const auto wanted = ports.propose(id, {"web"})->at("web");
  const UniqueFd squatter = listen_on(wanted);
  EXPECT_FALSE(can_bind_loopback(wanted));
  EXPECT_NE(ports.ensure(id, {"web"})->at("web"), wanted);
}

TEST_F(PortsTest, IsReplacedWhenSomebodyElseListensOnIt) {
  Ports ports(*state_);
  const auto id = worktree("x");
  const auto before = ports.ensure(id, {"web"})->at("web");
  const UniqueFd squatter = listen_on(before);
  const auto after = ports.replace(id, "web");
  ASSERT_TRUE(after);
  EXPECT_NE(*after, before);
  EXPECT_EQ(ports.load(id)->at("web"), *after);
}

TEST_F(PortsTest, AreFreeAgainWhenTheWorktreeIsForgotten) {
  Ports ports(*state_);
  const auto id = worktree("x");
  ASSERT_TRUE(ports.ensure(id, {"web"}));
  ASSERT_TRUE(registry_->forget(id));
  EXPECT_TRUE(ports.load(id)->empty());
}

}  // namespace
}  // namespace hedge::worktree
