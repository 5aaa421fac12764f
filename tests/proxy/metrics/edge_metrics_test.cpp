#include "proxy/metrics/edge_metrics.h"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/text.h"

namespace hedge::proxy {
namespace {

bool has_line(const std::string& text, std::string_view line) {
  for (const std::string_view one : split(text, '\n')) {
    if (one == line) return true;
  }
  return false;
}

TEST(EdgeMetrics, TellEachWorktreesTraffic) {
  EdgeMetrics edge;
  WorktreeTotals& alpha = edge.traffic["alpha"];
  alpha.by_class = {0, 7, 0, 2, 1};
  alpha.by_duration[0] = 6;
  alpha.by_duration[2] = 3;
  alpha.by_duration.back() = 1;
  alpha.duration_micros = 12'345'678;
  alpha.bytes_received = 11;
  alpha.bytes_sent = 22;
  alpha.tunnels_open = 4;
  alpha.errors[static_cast<std::size_t>(ProxyReason::upstream_closed)] = 1;
  const std::string text = render_metrics(edge, {});
  for (const std::string_view line :
       {"# TYPE hedge_requests_total counter", "hedge_requests_total{worktree=\"alpha\",code=\"2xx\"} 7",
        "hedge_requests_total{worktree=\"alpha\",code=\"3xx\"} 0",
        "# TYPE hedge_request_duration_seconds histogram",
        "hedge_request_duration_seconds_bucket{worktree=\"alpha\",le=\"0.001\"} 6",
        "hedge_request_duration_seconds_bucket{worktree=\"alpha\",le=\"0.0025\"} 6",
        "hedge_request_duration_seconds_bucket{worktree=\"alpha\",le=\"0.005\"} 9",
        "hedge_request_duration_seconds_bucket{worktree=\"alpha\",le=\"10\"} 9",
        "hedge_request_duration_seconds_bucket{worktree=\"alpha\",le=\"+Inf\"} 10",
        "hedge_request_duration_seconds_sum{worktree=\"alpha\"} 12.345678",
        "hedge_request_duration_seconds_count{worktree=\"alpha\"} 10",
        "hedge_body_bytes_total{worktree=\"alpha\",direction=\"in\"} 11",
        "hedge_body_bytes_total{worktree=\"alpha\",direction=\"out\"} 22",
        "hedge_tunnels_open{worktree=\"alpha\"} 4",
        "hedge_errors_total{worktree=\"alpha\",error=\"upstream_closed\"} 1"})
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
}

TEST(EdgeMetrics, TellOfTheProcess) {
  EdgeMetrics edge;
  edge.handshakes_done = 9;
  edge.handshakes_failed[static_cast<std::size_t>(HandshakeFailure::unknown_authority)] = 3;
  edge.accept_back_offs = 2;
  ControlMetrics control;
  control.access_log_dropped = 5;
  control.reloads = 4;
  control.reloads_failed = 1;
  control.process.open_descriptors = 17;
  const std::string text = render_metrics(edge, control);
  for (const std::string_view line :
       {"hedge_tls_handshakes_total{result=\"ok\"} 9",
        "hedge_tls_handshakes_total{result=\"unknown_authority\"} 3", "hedge_accept_back_offs_total 2",
        "hedge_access_log_dropped_lines_total 5", "hedge_reloads_total{result=\"ok\"} 3",
        "hedge_reloads_total{result=\"failed\"} 1", "process_open_fds 17"})
    EXPECT_TRUE(has_line(text, line)) << line;
}

TEST(EdgeMetrics, AHostileWorktreeIdStaysInItsLabel) {
  EdgeMetrics edge;
  edge.traffic["a\"} 1\nevil{x=\"\\\xff"].by_class[1] = 1;
  const std::string text = render_metrics(edge, {});
  EXPECT_TRUE(has_line(text, "hedge_requests_total{worktree=\"a\\\"} 1%0Aevil{x=\\\"\\\\%FF\",code=\"2xx\"} 1"));
  for (const std::string_view line : split(text, '\n')) EXPECT_FALSE(line.starts_with("evil"));
}

TEST(EdgeMetrics, EveryHandshakeFailureHasALabelOfItsOwn) {
  std::set<std::string_view> labels;
  for (std::size_t i = 0; i < kHandshakeFailures; ++i)
    labels.insert(label_of(static_cast<HandshakeFailure>(i)));
  EXPECT_EQ(labels.size(), kHandshakeFailures);
  EXPECT_EQ(labels.count(""), 0U);
}

TEST(ProcessFacts, AreThoseOfThisProcess) {
  const ProcessFacts before = fetch_process_facts();
  EXPECT_GT(before.open_descriptors, 2U);
  EXPECT_GE(before.most_descriptors, before.open_descriptors);
  EXPECT_GT(before.resident_bytes, 1'000'000U);
  EXPECT_GT(before.start_time_seconds, 1'500'000'000.0);
  const int extra = ::dup(2);
  ASSERT_GE(extra, 0);
  EXPECT_EQ(fetch_process_facts().open_descriptors, before.open_descriptors + 1);
  ::close(extra);
}

}  // namespace
}  // namespace hedge::proxy
