// clang-format off: the header that is tested comes first, to prove that it compiles alone.
#include "proxy/http/exchange.h"
// clang-format on

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/task_group.h"
#include "proxy/error_answer.h"
#include "proxy/http/http1_codec.h"
#include "proxy/http/http1_writer.h"

namespace hedge::proxy {
namespace {

// A request body that has arrived with the head.
class FakeBody final : public http::BodySource {
 public:
  http::BodyChunk take_buffered() override {
    finished_ = true;
    return {};
  }
  Task<http::BodyRead> read() override { co_return http::BodyRead{http::BodyStatus::failed, {}}; }
  bool finished() const override { return finished_; }
  bool failed() const override { return false; }
  const std::vector<http::Field>& trailers() const override { return trailers_; }
  const ProxyError& failure() const override { return failure_; }

 private:
  bool finished_ = false;
  std::vector<http::Field> trailers_;
  ProxyError failure_;
};

// Keeps what it is told to send.
class FakeExchange final : public http::Exchange {
 public:
  explicit FakeExchange(http::RequestHead& request) : request_(request) {}
  http::RequestHead& request() override { return request_; }
  http::BodySource& body() override { return body_; }
  const StreamIdentity& peer() const override { return peer_; }
  Task<bool> send_interim(const http::ResponseHead& /*head*/) override { co_return true; }
  Task<bool> send_head(const http::ResponseHead& head, http::BodyChunk first,
                       const std::vector<http::Field>& /*trailers*/) override {
    http::append_response_head(sent, head, head.body, http::ConnectionHeader::none);
    sent.append(first.data.data(), first.data.size());
    co_return first.last;
  }
  Task<bool> send_body(http::BodyChunk /*chunk*/, const std::vector<http::Field>& /*trailers*/) override {
    co_return true;
  }
  bool response_started() const override { return !sent.empty(); }
  void abort() override {}
  void finish_early() override {}
  Task<http::UpgradedClient> upgrade(const http::ResponseHead& /*head*/) override {
    co_return http::UpgradedClient();
  }
  void set_upstream(ByteStream* /*upstream*/) override {}
  bool client_gone() const override { return false; }
  void expect_continue() override {}

  std::string sent;

 private:
  http::RequestHead& request_;
  FakeBody body_;
  StreamIdentity peer_;
};

Task<void> answer(http::Exchange& exchange, http::RequestState& state, const ErrorReport& report) {
  static_cast<void>(co_await answer_with_error(exchange, state, report));
}

Task<void> redirect(http::Exchange& exchange, http::RequestState& state, std::uint16_t port) {
  static_cast<void>(co_await answer_with_https_redirect(exchange, state, "a.dev.localhost", port));
}

class ErrorAnswers : public testing::Test {
 protected:
  std::string answer_to(const std::string& head, ProxyReason reason, int retry_after = 0) {
    EXPECT_FALSE(http::parse_request_head(head, state_.request));
    FakeExchange exchange(state_.request);
    ErrorReport report;
    report.error = ProxyError{reason, "why", {}};
    report.request_id = "id-1";
    report.retry_after_seconds = retry_after;
    TaskGroup tasks;
    tasks.spawn(answer(exchange, state_, report));
    EXPECT_TRUE(exchange.body().finished()) << "a body that has arrived is read";
    return exchange.sent;
  }
  http::RequestState state_;
};

TEST_F(ErrorAnswers, CarryTheirIdAndAreNeverStored) {
  const std::string sent = answer_to("GET / HTTP/1.1\r\nHost: a\r\n\r\n", ProxyReason::upstream_refused);
  EXPECT_TRUE(sent.starts_with("HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/problem+json\r\n"))
      << sent;
  for (const std::string field :
       {"Hedge-Error: upstream_refused\r\n", "Cache-Control: no-store\r\n", "Vary: Accept\r\n",
        "X-Request-Id: id-1\r\n", "X-Content-Type-Options: nosniff\r\n", "Date: "})
    EXPECT_NE(sent.find(field), std::string::npos) << field;
  EXPECT_EQ(state_.record.error_id, "upstream_refused");
}

TEST_F(ErrorAnswers, ArePagesForBrowsersWithoutAnythingThatRuns) {
  const std::string sent =
      answer_to("GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n", ProxyReason::stack_starting, 2);
  EXPECT_TRUE(
      sent.starts_with("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html; charset=utf-8\r\n"))
      << sent;
  EXPECT_NE(sent.find("Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"),
            std::string::npos);
  EXPECT_NE(sent.find("Retry-After: 2\r\n"), std::string::npos);
}

TEST_F(ErrorAnswers, HaveTheirStatusAndPhraseForEveryReason) {
  for (int i = 0; i <= static_cast<int>(ProxyReason::internal); ++i) {
    const auto reason = static_cast<ProxyReason>(i);
    if (reason == ProxyReason::client_gone) continue;  // nobody is there to be answered
    const std::string sent = answer_to("GET / HTTP/1.1\r\nHost: a\r\n\r\n", reason);
    EXPECT_TRUE(sent.starts_with("HTTP/1.1 " + std::to_string(facts(reason).status) + " ")) << sent;
    EXPECT_FALSE(sent.starts_with("HTTP/1.1 " + std::to_string(facts(reason).status) + " Error\r\n")) << sent;
    state_.clear();
  }
}

TEST_F(ErrorAnswers, SendPlainRequestsToHttpsWithPathAndQuery) {
  ASSERT_FALSE(
      http::parse_request_head("GET //x?y HTTP/1.1\r\nHost: a.dev.localhost:8443\r\n\r\n", state_.request));
  FakeExchange exchange(state_.request);
  TaskGroup tasks;
  tasks.spawn(redirect(exchange, state_, 8443));
  EXPECT_TRUE(exchange.sent.starts_with(
      "HTTP/1.1 307 Temporary Redirect\r\nLocation: https://a.dev.localhost:8443//x?y\r\n"))
      << exchange.sent;
}

TEST_F(ErrorAnswers, LeaveTheStandardPortOutOfTheLocation) {
  ASSERT_FALSE(http::parse_request_head("GET / HTTP/1.1\r\nHost: a.dev.localhost\r\n\r\n", state_.request));
  FakeExchange exchange(state_.request);
  TaskGroup tasks;
  tasks.spawn(redirect(exchange, state_, 443));
  EXPECT_NE(exchange.sent.find("Location: https://a.dev.localhost/\r\n"), std::string::npos) << exchange.sent;
}

}  // namespace
}  // namespace hedge::proxy
