// K-07: "ready" only when this very worktree's application answers, and a different identifier for each way in which it
// does not.
#include "contract/requirements/answer.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/support/scripted_peer.h"

namespace hedge::contract {
namespace {

AnswerQuestion question(bool body_is_nonce) {
  AnswerQuestion out;
  out.host = "shop.login.localhost";
  out.path = "/healthz";
  out.nonce = "mine";
  out.body_is_nonce = body_is_nonce;
  return out;
}

struct Case {
  const char* name;
  bool body_is_nonce;
  EdgeAnswer answer;
  const char* error;  // empty: pass
};
class Answer : public testing::TestWithParam<Case> {};

TEST_P(Answer, K07_IsJudgedByWhoAnswersAndHow) {
  const CheckOutcome outcome = judge_answer(question(GetParam().body_is_nonce), GetParam().answer);
  EXPECT_EQ(outcome.error ? std::string(outcome.error->id()) : "", GetParam().error);
  EXPECT_EQ(outcome.status, *GetParam().error == '\0' ? CheckStatus::pass : CheckStatus::fail);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Answer,
    testing::Values(Case{"RightNonce", true, {200, "", "", "mine\n"}, ""},
                    Case{"ForeignNonce", true, {200, "", "", "theirs"}, "app_foreign_nonce"},
                    Case{"NoNonceAtAll", true, {200, "", "", ""}, "app_foreign_nonce"},
                    Case{"NonceInTheHeader", true, {200, "", "mine", "a page"}, ""},
                    Case{"ForeignNonceInTheHeader", false, {200, "", "theirs", ""}, "app_foreign_nonce"},
                    Case{"AnyAnswerWithoutNonces", false, {404, "", "", "not here"}, ""},
                    Case{"Redirect", false, {302, "", "", ""}, ""},
                    Case{"ServerError", false, {500, "", "", ""}, "app_unhealthy"},
                    Case{"ServerErrorWithTheNonce", true, {503, "", "", "mine"}, "app_unhealthy"},
                    Case{"NotFoundInsteadOfTheNonce", true, {404, "", "", "not here"}, "app_unhealthy"},
                    Case{"NeverListens", true, {502, "upstream_refused", "", ""}, "app_not_listening"},
                    Case{"AcceptsNothing", true, {504, "upstream_timeout", "", ""}, "app_slow"},
                    Case{"EdgesOwnErrorKeepsItsId", true, {502, "container_stopped", "", ""}, "container_stopped"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(AskApplication, AnEdgeThatListensNowhereCannotTell) {
  const CheckOutcome outcome = ask_application(question(true), {});
  EXPECT_EQ(outcome.status, CheckStatus::unknown);
}

TEST(AskApplication, AnEdgeThatDoesNotAnswerIsNotTheApplicationsFault) {
  router::EdgeStatus edge;
  edge.listeners.push_back({"http", "127.0.0.1", 1});
  const CheckOutcome outcome = ask_application(question(true), edge);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->id(), "edge_unresponsive");
}

// The edge of an application that begins to listen with the third question.
test::ScriptedUpstream::Script listens_at_the_third_question() {
  return [](test::PeerConnection& connection, int number) {
    connection.read_head();
    connection.send(number < 2 ? "HTTP/1.1 502 Bad Gateway\r\nHedge-Error: upstream_refused\r\nContent-Length: 0\r\n"
                                 "Connection: close\r\n\r\n"
                               : "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmine");
  };
}

TEST(AskApplication, ItIsWaitedForOnlyWhereItHasJustBeenStarted) {
  for (const bool just_started : {false, true}) {
    test::ScriptedUpstream server(listens_at_the_third_question());
    router::EdgeStatus edge;
    edge.listeners.push_back({"http", "127.0.0.1", server.port()});
    AnswerQuestion asked = question(true);
    if (just_started) asked.start_limit = std::chrono::seconds(20);
    const CheckOutcome outcome = ask_application(asked, edge);
    EXPECT_EQ(outcome.status, just_started ? CheckStatus::pass : CheckStatus::fail);
    EXPECT_EQ(server.accepted(), just_started ? 3 : 1);
  }
}

}  // namespace
}  // namespace hedge::contract
