#include "proxy/metrics/worker_traffic.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/metrics/metered_request.h"

namespace hedge::proxy {
namespace {

router::Route route(const std::string& host, const std::string& worktree) {
  router::Route out;
  out.host = host;
  out.upstream = router::TcpUpstream{"127.0.0.1", 3000};
  out.worktree = worktree;
  return out;
}

TrafficTotals totals_of(const WorkerTraffic& traffic) {
  TrafficTotals totals;
  traffic.add_to(totals);
  return totals;
}

AccessRecord finished(unsigned status, std::uint64_t bytes_out = 0) {
  AccessRecord record;
  record.start = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
  record.status = status;
  record.bytes_out = bytes_out;
  return record;
}

TEST(WorkerTraffic, CountsEachWorktreeByItself) {
  WorkerTraffic traffic;
  const AccessRecord ok = finished(200, 10);
  AccessRecord bad = finished(502);
  bad.error_id = "upstream_refused";
  bad.retried = true;
  bad.resolve = bad.connect = std::chrono::microseconds(5);
  for (int i = 0; i < 3; ++i) MeteredRequest(traffic, ok).routed(route("a.localhost", "alpha"), false);
  MeteredRequest(traffic, bad).routed(route("b.localhost", "beta"), false);
  const TrafficTotals totals = totals_of(traffic);
  const WorktreeTotals& alpha = totals.at("alpha");
  EXPECT_EQ(alpha.by_class[1], 3U);
  EXPECT_EQ(alpha.bytes_sent, 30U);
  EXPECT_EQ(alpha.retries + alpha.resolves + alpha.connects, 0U);
  const WorktreeTotals& beta = totals.at("beta");
  EXPECT_EQ(beta.by_class[4], 1U);
  EXPECT_EQ(beta.retries, 1U);
  EXPECT_EQ(beta.resolves, 1U);
  EXPECT_EQ(beta.connects, 1U);
  EXPECT_EQ(beta.errors[static_cast<std::size_t>(ProxyReason::upstream_refused)], 1U);
}

TEST(WorkerTraffic, KnowsWhatIsUnderWay) {
  WorkerTraffic traffic;
  const AccessRecord record = finished(101);
  {
    MeteredRequest request(traffic, record);
    request.routed(route("a.localhost", "alpha"), true);
    EXPECT_EQ(totals_of(traffic).at("alpha").requests_open, 1U);
    request.tunnel_opened();
    EXPECT_EQ(totals_of(traffic).at("alpha").tunnels_open, 1U);
  }
  const WorktreeTotals alpha = totals_of(traffic).at("alpha");
  EXPECT_EQ(alpha.requests_open, 0U);
  EXPECT_EQ(alpha.tunnels_open, 0U);
  EXPECT_EQ(alpha.by_class[0], 1U);
}

TEST(WorkerTraffic, OnlyWhatSomebodyAskedForCountsAsTheLastRequest) {
  WorkerTraffic traffic;
  const AccessRecord record = finished(200);
  MeteredRequest(traffic, record).routed(route("a.localhost", "alpha"), true);
  EXPECT_EQ(totals_of(traffic).at("alpha").last_request_seconds, 0U);
  MeteredRequest(traffic, record).routed(route("a.localhost", "alpha"), false);
  EXPECT_EQ(totals_of(traffic).at("alpha").last_request_seconds, 1'700'000'000U);
}

TEST(WorkerTraffic, PutsADurationInTheBucketWhoseBoundIsNotBelowIt) {
  EXPECT_EQ(latency_bucket(0), 0U);
  EXPECT_EQ(latency_bucket(1'000), 0U);
  EXPECT_EQ(latency_bucket(1'001), 1U);
  EXPECT_EQ(latency_bucket(10'000'000), kLatencyBuckets - 2);
  EXPECT_EQ(latency_bucket(10'000'001), kLatencyBuckets - 1);
}

TEST(WorkerTraffic, CountsHandMadeRoutesUnknownHostsAndTheRestTogether) {
  WorkerTraffic traffic;
  const AccessRecord record = finished(404);
  MeteredRequest(traffic, record).routed(route("a.localhost", ""), false);
  { const MeteredRequest unknown(traffic, record); }
  for (std::size_t i = 0; i < WorkerTraffic::kMostWorktrees + 5; ++i)
    MeteredRequest(traffic, record).routed(route("h.localhost", "w" + std::to_string(i)), false);
  const TrafficTotals totals = totals_of(traffic);
  EXPECT_EQ(totals.size(), WorkerTraffic::kMostWorktrees + 3);
  EXPECT_EQ(totals.at("_unowned").by_class[3], 1U);
  EXPECT_EQ(totals.at("_unrouted").by_class[3], 1U);
  EXPECT_EQ(totals.at("_other").by_class[3], 5U);
}

TEST(WorkerTraffic, ForgetsWorktreesWithoutARouteOnceTheyAreQuiet) {
  WorkerTraffic traffic;
  const AccessRecord record = finished(200);
  const router::Route alpha = route("a.localhost", "alpha");
  const router::Route alpha_too = route("a2.localhost", "alpha");
  const router::Route beta = route("b.localhost", "beta");
  MeteredRequest(traffic, record).routed(alpha, false);
  MeteredRequest(traffic, record).routed(beta, false);
  traffic.forget_absent(*router::RouteTable::build({alpha_too, beta}));
  EXPECT_TRUE(totals_of(traffic).contains("alpha")) << "another of its routes is there";
  {
    MeteredRequest open(traffic, record);
    open.routed(beta, false);
    traffic.forget_absent(*router::RouteTable::build({alpha_too}));
    EXPECT_TRUE(totals_of(traffic).contains("beta")) << "it still has an open request";
  }
  traffic.forget_absent(*router::RouteTable::build({route("b.localhost", "somebody-else")}));
  const TrafficTotals totals = totals_of(traffic);
  EXPECT_FALSE(totals.contains("alpha"));
  EXPECT_FALSE(totals.contains("beta"));
}

// For the thread sanitizer: reading goes on while worktrees come and go.
TEST(WorkerTraffic, IsReadWhileItCounts) {
  WorkerTraffic traffic;
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) EXPECT_LE(totals_of(traffic).size(), 60U);
  });
  const AccessRecord record = finished(200);
  const auto nothing = router::RouteTable::build({});
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 50; ++i)
      MeteredRequest(traffic, record).routed(route("h.localhost", "w" + std::to_string(i)), false);
    traffic.forget_absent(*nothing);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(totals_of(traffic).size(), 3U);
}

}  // namespace
}  // namespace hedge::proxy
