#include "proxy/process/descriptor_limit.h"

#include <gtest/gtest.h>

namespace hedge::proxy {
namespace {

TEST(MostConnections, LeaveAsManyDescriptorsForUpstreamsAsForClients) {
  const std::uint64_t most = most_connections(1024, 1, 2);
  EXPECT_GT(most, 400U);
  EXPECT_LE(2 * most + 64, 1024U);
}

TEST(MostConnections, LeaveEveryWorkerItsListeners) {
  constexpr std::uint64_t kWorkers = 64;
  constexpr std::uint64_t kAddresses = 4;
  const std::uint64_t most = most_connections(1024, kWorkers, kAddresses);
  EXPECT_LE(2 * most + 64 + kWorkers * (kAddresses + 2), 1024U);
  EXPECT_GT(most, 16U);
}

TEST(MostConnections, AreSomeWhereTheLimitIsTooLowForAll) {
  EXPECT_EQ(most_connections(64, 64, 4), 16U);
  EXPECT_EQ(most_connections(0, 64, 4), 0U) << "no limit";
}

}  // namespace
}  // namespace hedge::proxy
