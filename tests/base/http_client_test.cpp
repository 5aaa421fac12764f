#include "base/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "tests/support/temporary_directory.h"

namespace hedge {
namespace {

using namespace std::chrono_literals;

// Accepts one connection, reads the request's head, sends `answer` and closes (or keeps silent until the client goes).
class OneAnswer {
 public:
  OneAnswer(const std::filesystem::path& path, std::string answer) : listener_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    thread_ = std::thread([this, text = std::move(answer)] { serve(text); });
  }
  ~OneAnswer() { thread_.join(); }
  const std::string& request() const { return request_; }

 private:
  void serve(const std::string& answer) {
    const UniqueFd connection(::accept(listener_.get(), nullptr, nullptr));
    std::string block(65536, '\0');
    while (request_.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(connection.get(), block.data(), block.size(), 0);
      if (got <= 0) return;
      request_.append(block.data(), static_cast<std::size_t>(got));
    }
    if (!answer.empty()) {
      ::send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      return;
    }
    while (::recv(connection.get(), block.data(), block.size(), 0) > 0) {
    }
  }

  UniqueFd listener_;
  std::string request_;
  std::thread thread_;
};

TEST(HttpClient, ReadsAnAnswerFromAUnixSocket) {
  const test::TemporaryDirectory directory;
  const UnixAddress address{directory / "s"};
  const OneAnswer server(address.path, "HTTP/1.1 201 Created\r\nX-Thing: yes\r\nContent-Length: 2\r\n\r\nok");
  HttpRequest request;
  request.target = "/v1/status";
  const auto response = http_fetch(address, request, 2s);
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->status, 201U);
  EXPECT_EQ(response->body, "ok");
  EXPECT_EQ(response->header("x-thing"), "yes");
}

TEST(HttpClient, IsBoundedWhenThePeerNeverAnswers) {
  const test::TemporaryDirectory directory;
  const UnixAddress address{directory / "s"};
  const OneAnswer server(address.path, "");
  const auto response = http_fetch(address, HttpRequest{}, 50ms);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind(), ErrorKind::timed_out);
}

TEST(HttpClient, TellsATruncatedAnswer) {
  const test::TemporaryDirectory directory;
  const UnixAddress address{directory / "s"};
  const OneAnswer server(address.path, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  EXPECT_EQ(http_fetch(address, HttpRequest{}, 2s).error().kind(), ErrorKind::closed);
}

TEST(HttpClient, RefusesAnAnswerAboveTheLimit) {
  const test::TemporaryDirectory directory;
  const UnixAddress address{directory / "s"};
  const OneAnswer server(address.path, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x'));
  EXPECT_FALSE(http_fetch(address, HttpRequest{}, 2s, 50));
}

TEST(HttpClient, TellsAMissingSocketFromARefusedPort) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(http_fetch(UnixAddress{directory / "absent"}, HttpRequest{}, 1s).error().kind(), ErrorKind::not_found);
  EXPECT_EQ(http_fetch(UnixAddress{std::string(200, 'x')}, HttpRequest{}, 1s).error().kind(), ErrorKind::invalid_input);
  // A port that was bound and closed again has no listener.
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const UniqueFd probe(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(probe.get(), reinterpret_cast<sockaddr*>(&local), sizeof local), 0);
  socklen_t length = sizeof local;
  ASSERT_EQ(::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&local), &length), 0);
  const TcpAddress nobody{"127.0.0.1", ntohs(local.sin_port)};
  EXPECT_EQ(http_fetch(nobody, HttpRequest{}, 1s).error().kind(), ErrorKind::unavailable);
}

}  // namespace
}  // namespace hedge
