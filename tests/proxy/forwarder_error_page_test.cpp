#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proxy/error_page.h"
#include "proxy/pages/next_step.h"

namespace hedge::proxy {
namespace {

TEST(AcceptFields, PreferHtmlOnlyWhenTheySaySo) {
  for (const std::string accept :
       {"text/html", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "TEXT/HTML;q=0.5",
        "application/json;q=0.5, text/html;q=0.6", "application/xhtml+xml"})
    EXPECT_TRUE(prefers_html(accept)) << accept;
  for (const std::string accept :
       {"", "*/*", "application/json", "text/*", "text/html;q=0", "application/json, text/html;q=0.9",
        "application/problem+json, text/html;q=0.5", "text/html;q=nonsense", "text/html;q=nan",
        "text/html;q=inf", "text/html;q=1e0", "text/html;q=2", "text/html;q=1.001", "text/html;q=0.0001",
        "text/html;q=0.", "text/html;q=+1", "text/html;q=-1", "text/html;q=.5", "text/html;q=",
        "application/json;q=0.501, text/html;q=0.5"})
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

TEST(ProblemJson, NamesTheCommandAndTheAdviceApart) {
  ErrorReport report = report_of(ProxyReason::upstream_refused);
  report.error.fix = "make it listen on 0.0.0.0";
  const auto problem = nlohmann::json::parse(render_problem_json(report));
  EXPECT_EQ(problem["next"], "hedge verify alpha");
  EXPECT_EQ(problem["advice"], "make it listen on 0.0.0.0");
}

constexpr ProxyReason reason_at(int i) {
  return static_cast<ProxyReason>(i);
}

// Everything that may come from outside, in a form that would leave its place if it were not escaped.
ErrorReport hostile_report(ProxyReason reason, std::string_view attack) {
  ErrorReport report = report_of(reason);
  report.error.detail = attack;
  report.error.fix = attack;
  report.host = report.worktree = report.upstream = report.request_id = attack;
  report.known_hosts = {attack, attack};
  report.known_hosts_total = 2;
  report.retry_after_seconds = reason == ProxyReason::stack_starting ? 2 : 0;
  return report;
}

TEST(ErrorPages, EscapeEverythingFromOutside) {
  for (const std::string_view attack :
       {"<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><b>", "</title><u>",
        "</style><em>", "</code></pre><i>", "javascript:alert(1)", "&lt;s&gt;&#60;s>"}) {
    for (int i = 0; i < static_cast<int>(ProxyReason::internal); ++i) {
      const std::string page = render_error_html(hostile_report(reason_at(i), attack));
      for (const std::string_view tag : {"<script", "<img", "<b>'", "<u>", "<em>", "<i>", "<s>", "\"'><"})
        EXPECT_EQ(page.find(tag), std::string::npos) << tag << " after " << attack << "\n" << page;
      EXPECT_EQ(page.find("href=\"javascript:"), std::string::npos);
    }
  }
}

TEST(ErrorPages, StayBelowEightKibibytesWhateverIsInThem) {
  for (const std::string_view unit : {"&", "\"", "\xe2\x82\xac", "\xff", "\x80", "a"}) {
    std::string attack;
    while (attack.size() < 5000) attack += unit;
    for (int i = 0; i < static_cast<int>(ProxyReason::internal); ++i) {
      const std::string page = render_error_html(hostile_report(reason_at(i), attack));
      EXPECT_LE(page.size(), kMostPageBytes) << unit;
      EXPECT_TRUE(page.ends_with("</body></html>\n"));
    }
  }
}

TEST(ErrorPages, NeverCutACharacterInTwo) {
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "\xe2\x82\xac";
  const std::string page = render_error_html(hostile_report(ProxyReason::upstream_closed, euros));
  for (std::size_t at = 0; (at = page.find('\xe2', at)) != std::string::npos; ++at) {
    ASSERT_LT(at + 2, page.size());
    EXPECT_TRUE(page.compare(at, 3, "\xe2\x82\xac") == 0 || page.compare(at, 3, "\xe2\x80\xa6") == 0);
  }
}

TEST(ErrorPages, AreSelfContained) {
  for (int i = 0; i < static_cast<int>(ProxyReason::internal); ++i) {
    const std::string page = render_error_html(report_of(reason_at(i)));
    for (const std::string foreign :
         {"src=", "http://", "https://", "url(", "<link", "@import", "<script", " onclick"})
      EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
    EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  }
}

TEST(ErrorPages, ShowTheIdTheStatusAndTheCommandToRun) {
  for (int i = 0; i < static_cast<int>(ProxyReason::internal); ++i) {
    const ErrorReport report = report_of(reason_at(i));
    const std::string page = render_error_html(report);
    EXPECT_NE(
        page.find("<b>" + std::to_string(report.error.status()) + "</b>" + std::string(report.error.id())),
        std::string::npos);
    EXPECT_NE(page.find("<pre><code>" + next_step(report).command + "</code></pre>"), std::string::npos)
        << page;
  }
}

TEST(ErrorPages, LookAgainByThemselvesOnlyWhileAStackStarts) {
  ErrorReport report = report_of(ProxyReason::stack_starting);
  report.retry_after_seconds = 2;
  EXPECT_NE(render_error_html(report).find("<meta http-equiv=\"refresh\" content=\"2\">"), std::string::npos);
  EXPECT_EQ(render_error_html(report_of(ProxyReason::upstream_refused)).find("refresh"), std::string::npos);
}

TEST(ErrorPages, ShowAsManyHostsAsThereIsRoomForAndCountTheRest) {
  std::vector<std::string> hosts;
  for (int i = 0; i < 100; ++i) hosts.push_back("host-number-" + std::to_string(1000 + i) + ".dev.localhost");
  ErrorReport report = report_of(ProxyReason::route_unknown);
  report.known_hosts.assign(hosts.begin(), hosts.end());
  report.known_hosts_total = 250;
  report.port = 8443;
  const std::string page = render_error_html(report);
  std::size_t shown = 0;
  while (shown < hosts.size() && page.find(hosts[shown]) != std::string::npos) ++shown;
  EXPECT_GT(shown, 10U);
  EXPECT_NE(page.find("href=\"//" + hosts.front() + ":8443/\""), std::string::npos)
      << "on the port of the request";
  EXPECT_NE(page.find("and " + std::to_string(250 - shown) + " more"), std::string::npos) << shown;
  EXPECT_LE(page.size(), kMostPageBytes);
}

TEST(NextSteps, ExistForEveryReason) {
  for (int i = 0; i <= static_cast<int>(ProxyReason::internal); ++i) {
    const std::string command = next_step(report_of(reason_at(i))).command;
    EXPECT_TRUE(command.starts_with("hedge ") || command == "systemctl start docker") << command;
  }
}

TEST(NextSteps, TakeTheErrorsOwnCommandFirst) {
  ErrorReport report = report_of(ProxyReason::upstream_off_network);
  report.error.fix = "docker network connect edge wt-alpha-app";
  EXPECT_EQ(next_step(report).command, "docker network connect edge wt-alpha-app");
  report.error.fix = "connect both to one network";
  EXPECT_EQ(next_step(report).command, "hedge explain upstream_off_network");
  EXPECT_EQ(next_step(report).advice, "connect both to one network");
}

TEST(NextSteps, StartAWorktreesWholeStackRatherThanOneContainer) {
  ErrorReport report = report_of(ProxyReason::container_stopped);
  report.error.fix = "docker start wt-alpha-app";
  EXPECT_EQ(next_step(report).command, "hedge up alpha");
  EXPECT_EQ(next_step(report).advice, "");
  report.worktree = {};
  EXPECT_EQ(next_step(report).command, "docker start wt-alpha-app");
}

TEST(NextSteps, LookForTheContainerOfAWorktreeWithTheWorktreesOwnVerbs) {
  ErrorReport report = report_of(ProxyReason::upstream_unresolved);
  report.error.fix = "docker ps --all";
  EXPECT_EQ(next_step(report).command, "hedge up alpha");
  EXPECT_EQ(next_step(report).advice, "if the worktree is gone, hedge gc removes what is left of it");
}

TEST(NextSteps, RemoveTheRouteThatWasMadeAndNotTheNameThatWasAskedFor) {
  ErrorReport report = report_of(ProxyReason::upstream_unresolved);
  report.worktree = {};
  report.host = "x.y.wild.dev.localhost";
  report.route_host = "wild.dev.localhost";
  EXPECT_EQ(next_step(report).command, "hedge route rm wild.dev.localhost");
}

// What is shown is pasted into a shell.
TEST(NextSteps, NeverPutIntoACommandWhatAShellWouldTakeApart) {
  for (const std::string_view hostile :
       {"a; rm -rf ~", "$(id)", "`id`", "-rf", "a b", "a'b", "a\nb", "a|b", "a>b"}) {
    for (int i = 0; i <= static_cast<int>(ProxyReason::internal); ++i) {
      ErrorReport report = report_of(reason_at(i));
      report.worktree = hostile;
      report.host = report.route_host = hostile;
      EXPECT_EQ(next_step(report).command.find(hostile), std::string::npos) << next_step(report).command;
      report.worktree = {};
      EXPECT_EQ(next_step(report).command.find(hostile), std::string::npos) << next_step(report).command;
    }
  }
}

}  // namespace
}  // namespace hedge::proxy
