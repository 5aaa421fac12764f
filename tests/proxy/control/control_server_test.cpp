// The control socket's HTTP: limits, refusals, persistent connections.
#include "proxy/control/control_server.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/proxy/control/control_thread_fixture.h"

namespace hedge::proxy {
namespace {

using ControlServerTest = test::ControlThreadTest;

TEST_F(ControlServerTest, TooLargeABodyIsRefusedAndTheConnectionClosed) {
  start();
  const auto refused = request("PUT", "/v1/routes/a.localhost", std::string((1U << 20) + 1, 'x'));
  ASSERT_TRUE(refused) << refused.error().to_string();
  EXPECT_EQ(refused->status, 413U);
  EXPECT_EQ(request("PUT", "/v1/routes/a.localhost", std::string(1U << 20, 'x'))->status, 400U)
      << "exactly 1 MiB is read";
}

struct RawRequest {
  std::string text;
  std::string status;  // empty: closed without a word
};

TEST_F(ControlServerTest, WhatIsNoRequestIsRefusedAndClosed) {
  start();
  const std::vector<RawRequest> cases = {
      {"\x16\x03\x01\x02\x05", "400"},
      {"GET / HTTP/9.9\r\n\r\n", "400"},
      {"GET /v1/status HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n", "431"},
      {"GET /v1/status HTTP/1.1\r\nHost", ""},
      {"", ""},
  };
  for (const RawRequest& row : cases) {
    const UniqueFd fd = connect();
    ASSERT_EQ(::send(fd.get(), row.text.data(), row.text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(row.text.size()));
    ::shutdown(fd.get(), SHUT_WR);
    const std::string answer = read_all(fd.get());
    const std::string expected = row.status.empty() ? "" : "HTTP/1.1 " + row.status;
    EXPECT_EQ(answer.substr(0, expected.size()), expected) << row.text.substr(0, 40);
    if (row.status.empty()) {
      EXPECT_EQ(answer, "");
    }
  }
  EXPECT_TRUE(client().fetch_status());
}

TEST_F(ControlServerTest, OneConnectionCarriesManyRequests) {
  start();
  const UniqueFd fd = connect();
  const std::string one = "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string last = "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string all = one + one + last;
  ASSERT_EQ(::send(fd.get(), all.data(), all.size(), MSG_NOSIGNAL), static_cast<ssize_t>(all.size()));
  const std::string answers = read_all(fd.get());
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 200 OK", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 3U) << answers;
}

TEST_F(ControlServerTest, ABugInOneAnswerEndsItsConnectionAlone) {
  start();
  const UniqueFd other = connect();
  for (int i = 0; i < 3; ++i) {
    edge_.failures = 1;
    EXPECT_FALSE(request("GET", "/v1/status")) << "closed without an answer";
  }
  EXPECT_TRUE(client().fetch_status());
  control_->stop();  // ends every connection on its list, on which only the living ones may be
  EXPECT_EQ(read_all(other.get()), "");
}

TEST_F(ControlServerTest, ManySilentConnectionsDoNotKeepItFromStopping) {
  start();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 80; ++i) silent.push_back(connect());
  control_->stop();
  for (const UniqueFd& fd : silent) EXPECT_EQ(read_all(fd.get()), "");
}

}  // namespace
}  // namespace hedge::proxy
