#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proxy/error_page.h"

namespace hedge::proxy {
namespace {

TEST(AcceptFields, PreferHtmlOnlyWhenTheySaySo) {
  for (const std::string accept :
       {"text/html", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "TEXT/HTML;q=0.5",
        "application/json;q=0.5, text/html;q=0.6", "application/xhtml+xml"})
    EXPECT_TRUE(prefers_html(accept)) << accept;
  for (const std::string accept :
       {"", "*/*", "application/json", "text/*", "text/html;q=0", "application/json, text/html;q=0.9",
        "application/problem+json, text/html;q=0.5", "text/html;q=nonsense"})
    EXPECT_FALSE(prefers_html(accept)) << accept;
}

ErrorReport report_of(ProxyReason reason) {
  ErrorReport report;
  report.error = ProxyError{reason, "connect to 127.0.0.1:9 was refused", {}};
  report.host = "alpha.dev.localhost";
  report.worktree = "alpha";
  report.upstream = "docker:wt-alpha-app:8000";
  report.request_id = "id-1";
  return report;
}

TEST(ProblemJson, SaysWhatWhereAndWhatNext) {
  const auto problem = nlohmann::json::parse(render_problem_json(report_of(ProxyReason::upstream_refused)));
  EXPECT_EQ(problem["type"], "urn:hedge:error:upstream_refused");
  EXPECT_EQ(problem["id"], "upstream_refused");
  EXPECT_EQ(problem["status"], 502);
  EXPECT_EQ(problem["host"], "alpha.dev.localhost");
  EXPECT_EQ(problem["worktree"], "alpha");
  EXPECT_EQ(problem["upstream"], "docker:wt-alpha-app:8000");
  EXPECT_EQ(problem["detail"], "connect to 127.0.0.1:9 was refused");
  EXPECT_FALSE(problem["next"].get<std::string>().empty());
  EXPECT_FALSE(problem.contains("known_hosts"));
}

TEST(ProblemJson, SurvivesAHostThatIsNoText) {
  ErrorReport report = report_of(ProxyReason::route_unknown);
  report.host = "\xff\xfe\"\n";
  EXPECT_TRUE(nlohmann::json::accept(render_problem_json(report)));
}

TEST(ErrorPages, EscapeEverythingFromOutside) {
  ErrorReport report = report_of(ProxyReason::route_unknown);
  report.error.detail = "no route for <script>alert(1)</script>";
  report.host = "<img src=x>";
  report.worktree = "\"'><b>";
  report.upstream = "<i>";
  report.request_id = "<u>";
  report.known_hosts = {"<em>"};
  const std::string page = render_error_html(report);
  for (const std::string tag : {"<script", "<img", "<b>", "<i>", "<u>", "<em>"})
    EXPECT_EQ(page.find(tag), std::string::npos) << tag;
}

TEST(ErrorPages, AreSelfContained) {
  const std::string page = render_error_html(report_of(ProxyReason::container_stopped));
  for (const std::string foreign : {"src=", "http://", "https://", "url(", "<link", "@import"})
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(page.find("hedge up alpha"), std::string::npos);
}

TEST(ErrorPages, LookAgainByThemselvesOnlyWhileAStackStarts) {
  ErrorReport report = report_of(ProxyReason::stack_starting);
  report.retry_after_seconds = 2;
  EXPECT_NE(render_error_html(report).find("<meta http-equiv=\"refresh\" content=\"2\">"), std::string::npos);
  EXPECT_EQ(render_error_html(report_of(ProxyReason::upstream_refused)).find("refresh"), std::string::npos);
}

TEST(ErrorPages, ShowAtMostFiftyHosts) {
  ErrorReport report = report_of(ProxyReason::route_unknown);
  const std::vector<std::string> hosts = [] {
    std::vector<std::string> all;
    for (int i = 100; i < 153; ++i) all.push_back("h" + std::to_string(i));
    return all;
  }();
  report.known_hosts.assign(hosts.begin(), hosts.end());
  const std::string page = render_error_html(report);
  EXPECT_NE(page.find("h149"), std::string::npos);
  EXPECT_EQ(page.find("h150"), std::string::npos);
  EXPECT_NE(page.find("and 3 more"), std::string::npos);
}

TEST(NextSteps, ExistForEveryReasonAndTheErrorsOwnComesFirst) {
  for (int i = 0; i <= static_cast<int>(ProxyReason::internal); ++i)
    EXPECT_TRUE(next_step(report_of(static_cast<ProxyReason>(i))).starts_with("hedge ")) << i;
  ErrorReport report = report_of(ProxyReason::upstream_off_network);
  report.error.fix = "docker network connect edge wt-alpha-app";
  EXPECT_EQ(next_step(report), "docker network connect edge wt-alpha-app");
}

}  // namespace
}  // namespace hedge::proxy
