#include "contract/evaluator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace hedge::contract {
namespace {

Requirement requirement(std::string id, CheckOutcome outcome, std::vector<std::string> needs = {},
                        Severity severity = Severity::required) {
  return {id, "title of " + id, severity, std::move(needs), [outcome] { return outcome; }};
}

CheckOutcome failing(std::string_view id) { return CheckOutcome::fail(Error(ErrorKind::io, "it broke").with_id(id)); }

TEST(Evaluator, ResultsStandInTheOrderOfTheRequirements) {
  const auto checks = evaluate({requirement("b", CheckOutcome::pass(), {"a"}), requirement("a", CheckOutcome::pass("fine"))},
                               Strictness::normal);
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[0].id, "b");
  EXPECT_EQ(checks[1].id, "a");
  EXPECT_EQ(checks[1].detail, "fine");
  EXPECT_EQ(judge(checks), Status::ready);
}

TEST(Evaluator, IndependentRequirementsAreCheckedSideBySide) {
  std::latch both(2);  // each waits for the other: one after the other would never end
  const auto meet = [&both] {
    both.arrive_and_wait();
    return CheckOutcome::pass();
  };
  const auto checks = evaluate({{"a", "", Severity::required, {}, meet}, {"b", "", Severity::required, {}, meet}},
                               Strictness::normal);
  EXPECT_EQ(judge(checks), Status::ready);
}

TEST(Evaluator, WhatNeedsAFailedOneIsSkippedWithTheReasonAndNotRun) {
  std::atomic<int> runs{0};
  const auto count = [&runs] {
    ++runs;
    return CheckOutcome::pass();
  };
  const auto checks = evaluate({requirement("stack", failing("stack_stopped")),
                                {"route", "", Severity::required, {"stack"}, count},
                                {"answers", "", Severity::required, {"route"}, count}},
                               Strictness::normal);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(checks[1].status, CheckStatus::skip);
  EXPECT_EQ(checks[1].detail, "stack does not pass");
  EXPECT_EQ(checks[2].status, CheckStatus::skip);
  EXPECT_EQ(checks[2].detail, "route was skipped");
}

TEST(Evaluator, WhatDoesNotApplyIsNoObstacle) {
  const auto checks = evaluate({requirement("engine", CheckOutcome::skip("no containers")),
                                requirement("stack", CheckOutcome::pass(), {"engine", "nobody_has_this"})},
                               Strictness::normal);
  EXPECT_EQ(checks[1].status, CheckStatus::pass);
}

TEST(Evaluator, AnOptionalFailureIsAWarningUnlessStrict) {
  const std::vector<Requirement> requirements{requirement("trust", failing("ca_untrusted"), {}, Severity::optional)};
  const auto normal = evaluate(requirements, Strictness::normal);
  EXPECT_EQ(normal[0].status, CheckStatus::warn);
  EXPECT_EQ(judge(normal), Status::ready);
  const auto strict = evaluate(requirements, Strictness::strict);
  EXPECT_EQ(strict[0].status, CheckStatus::fail);
  EXPECT_EQ(judge(strict), Status::incomplete);
}

TEST(Evaluator, AFailureCarriesItsIdTextAndRemediation) {
  const auto checks = evaluate({requirement("stack", failing("stack_stopped"))}, Strictness::normal);
  EXPECT_EQ(checks[0].error, "stack_stopped");
  EXPECT_EQ(checks[0].detail, "it broke");
  ASSERT_TRUE(checks[0].remediation);
  EXPECT_EQ(checks[0].remediation->command, "hedge up");
}

TEST(Evaluator, UnknownCountsAsAFailureWhereRequired) {
  const auto checks = evaluate(
      {requirement("db", CheckOutcome::unknown(Error(ErrorKind::io, "no idea").with_id("internal_error")))}, Strictness::normal);
  EXPECT_EQ(checks[0].status, CheckStatus::unknown);
  EXPECT_EQ(judge(checks), Status::failed);
}

TEST(Judge, IsIncompleteOnlyIfEverythingMissingCanBeMade) {
  const auto check = [](std::string_view id, bool can_be_made) {
    CheckOutcome outcome = failing(id);
    outcome.can_be_made = can_be_made;
    return outcome;
  };
  const auto judged = [&](CheckOutcome a, CheckOutcome b) {
    return judge(evaluate({requirement("a", std::move(a)), requirement("b", std::move(b))}, Strictness::normal));
  };
  EXPECT_EQ(judged(check("process_exited", true), check("edge_not_running", false)), Status::incomplete);
  EXPECT_EQ(judged(check("process_exited", false), check("edge_not_running", false)), Status::failed);
  EXPECT_EQ(judged(check("no_such_id", false), CheckOutcome::pass()), Status::failed);
}

TEST(Conclude, TheNextCommandIsThatOfTheFirstFailure) {
  ContractResult result;
  result.checks = evaluate({requirement("trust", failing("ca_untrusted"), {}, Severity::optional),
                            requirement("edge", failing("edge_not_running")), requirement("stack", failing("stack_stopped"))},
                           Strictness::normal);
  conclude(result);
  EXPECT_EQ(result.status, Status::incomplete);
  EXPECT_EQ(result.exit_code, ExitCode::incomplete);
  EXPECT_EQ(result.next, "hedge edge start");
}

}  // namespace
}  // namespace hedge::contract
