#include "proxy/process/matched_ports.h"

#include <gtest/gtest.h>

namespace hedge::proxy {
namespace {

using config::SocketAddress;
constexpr auto kPlain = ListenerKind::plain;
constexpr auto kTls = ListenerKind::tls;

OpenAddress open_address(std::uint32_t number, ListenerKind kind, const SocketAddress& asked) {
  OpenAddress open;
  open.number = number;
  open.kind = kind;
  open.asked = open.address = asked;
  return open;
}

TEST(MatchedPorts, KeepWhatIsAskedForInTheSameWords) {
  ListenPlan plan;
  plan.plain = {SocketAddress{"127.0.0.1", 0}, SocketAddress{"127.0.0.1", 0}, SocketAddress{"::1", 81}};
  plan.tls.emplace();
  const auto ports = match_ports<OpenAddress>(
      plan, {open_address(1, kPlain, {"127.0.0.1", 0}), open_address(2, kPlain, {"127.0.0.1", 82}),
             open_address(3, kTls, {"127.0.0.1", 0})});
  ASSERT_EQ(ports.kept.size(), 1U);
  EXPECT_EQ(ports.kept[0].number, 1U);
  ASSERT_EQ(ports.unwanted.size(), 2U);
  EXPECT_EQ(ports.unwanted[0].number, 2U);
  EXPECT_EQ(ports.unwanted[1].number, 3U) << "of the other kind";
  EXPECT_EQ(*ports.missing.plain,
            (std::vector<SocketAddress>{SocketAddress{"127.0.0.1", 0}, SocketAddress{"::1", 81}}));
  EXPECT_TRUE(ports.missing.tls->empty());
}

TEST(MatchedPorts, ChangeWhatIsSpokenWherePlainAndTlsWereExchanged) {
  ListenPlan plan;
  plan.plain = {SocketAddress{"127.0.0.1", 82}, SocketAddress{"127.0.0.1", 0}};
  plan.tls = {SocketAddress{"127.0.0.1", 81}};
  std::vector<OpenAddress> open = {open_address(1, kPlain, {"127.0.0.1", 81}),
                                   open_address(2, kTls, {"127.0.0.1", 82}),
                                   open_address(3, kTls, {"127.0.0.1", 0})};
  suit_kinds(plan, open);
  EXPECT_EQ(open[0].kind, kTls);
  EXPECT_EQ(open[1].kind, kPlain);
  EXPECT_EQ(open[2].kind, kTls) << "two that the system chose are not the same";
  const auto ports = match_ports<OpenAddress>(plan, open);
  EXPECT_EQ(ports.kept.size(), 2U);
  EXPECT_EQ(ports.unwanted.size(), 1U);
}

TEST(MatchedPorts, StayOnTheStandardPortsOrTheirFallbackWithoutAFileThatSaysOtherwise) {
  const ListenPlan standard;
  // What a fallback was asked for is the standard port; a machine without IPv6 has only the first.
  const auto same = match_ports<OpenAddress>(
      standard, {open_address(1, kPlain, {"127.0.0.1", 80}), open_address(2, kTls, {"127.0.0.1", 443})});
  EXPECT_EQ(same.kept.size(), 2U);
  EXPECT_TRUE(same.missing.plain && same.missing.plain->empty());
  EXPECT_TRUE(same.missing.tls && same.missing.tls->empty());
  const auto other = match_ports<OpenAddress>(standard, {open_address(1, kPlain, {"127.0.0.1", 8081})});
  EXPECT_EQ(other.unwanted.size(), 1U);
  EXPECT_FALSE(other.missing.plain) << "the standard ones are to be opened";
}

}  // namespace
}  // namespace hedge::proxy
