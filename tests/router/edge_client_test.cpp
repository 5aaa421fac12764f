#include "router/edge_client.h"

#include <array>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/unique_fd.h"
#include "tests/support/temporary_directory.h"

namespace hedge::router {
namespace {

using namespace std::chrono_literals;

// Answers one connection with the same bytes whatever it is asked, and remembers the question.
class OneAnswer {
 public:
  OneAnswer(const std::filesystem::path& path, std::string answer) : answer_(std::move(answer)) {
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~OneAnswer() { thread_.join(); }
  // The request's first line. Call it after the answer has been received.
  std::string first_line() const { return request_.substr(0, request_.find('\r')); }

 private:
  void serve() {
    pollfd wait{listener_.get(), POLLIN, 0};
    if (::poll(&wait, 1, 5000) != 1) return;
    const UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
    std::array<char, 4096> block{};
    while (request_.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::read(peer.get(), block.data(), block.size());
      if (got <= 0) return;
      request_.append(block.data(), static_cast<std::size_t>(got));
    }
    if (::write(peer.get(), answer_.data(), answer_.size()) < 0) return;
    // No answer means one that never comes: the peer stays until the client goes.
    if (!answer_.empty()) ::shutdown(peer.get(), SHUT_WR);
    while (::read(peer.get(), block.data(), block.size()) > 0) {
    }
  }

  std::string answer_;
  UniqueFd listener_;
  std::string request_;
  std::thread thread_;
};

std::string json_answer(const std::string& body, const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

class EdgeClientTest : public testing::Test {
 protected:
  std::filesystem::path socket() const { return directory_ / "edge.sock"; }
  EdgeClient client() const { return EdgeClient(socket(), 3s); }
  test::TemporaryDirectory directory_;
};

TEST_F(EdgeClientTest, ReadsTheStatus) {
  const OneAnswer edge(
      socket(), json_answer(R"({"pid": 42, "version": "0.1.0", "state_directory": "/s", "uptime_seconds": 7,
      "workers": 2, "connections": 3, "routes": 4, "warnings": ["w"], "later": {},
      "listeners": [{"scheme": "https", "address": "::1", "port": 8443}]})"));
  const auto status = client().fetch_status();
  ASSERT_TRUE(status) << status.error().to_string();
  EdgeStatus expected;
  expected.pid = 42;
  expected.version = "0.1.0";
  expected.state_directory = "/s";
  expected.uptime = 7s;
  expected.workers = 2;
  expected.connections = 3;
  expected.routes = 4;
  expected.warnings = {"w"};
  expected.listeners = {{"https", "::1", 8443}};
  EXPECT_EQ(*status, expected);
  EXPECT_EQ(edge.first_line(), "GET /v1/status HTTP/1.1");
}

TEST_F(EdgeClientTest, ReadsTheRoutes) {
  const OneAnswer edge(socket(),
                       json_answer(R"({"routes": [{"host": "a.localhost", "upstream": "tcp:127.0.0.1:1",
      "static": true}]})"));
  const auto routes = client().fetch_routes();
  ASSERT_TRUE(routes) << routes.error().to_string();
  ASSERT_EQ(routes->size(), 1U);
  EXPECT_EQ(routes->front().host, "a.localhost");
}

TEST_F(EdgeClientTest, TellsARouteOfTheSettingsFileFromOthers) {
  struct Row {
    std::string answer;
    bool is_static;
  };
  const std::vector<Row> rows = {
      {json_answer(R"({"host": "a.localhost", "static": true})"), true},
      {json_answer(R"({"host": "a.localhost", "static": false})"), false},
      {json_answer(R"({"host": "a.localhost"})"), false},
      {json_answer(R"({"id": "route_unknown", "detail": "none"})", "404 Not Found"), false}};
  for (const Row& row : rows) {
    std::filesystem::remove(socket());
    const OneAnswer edge(socket(), row.answer);
    const auto told = client().fetch_is_static("a.localhost");
    ASSERT_TRUE(told) << told.error().to_string();
    EXPECT_EQ(*told, row.is_static) << row.answer;
    EXPECT_EQ(edge.first_line(), "GET /v1/routes/a.localhost HTTP/1.1");
  }
}

TEST_F(EdgeClientTest, APokeReachesARunningEdge) {
  const OneAnswer edge(socket(), json_answer("{}"));
  const auto poked = client().poke();
  ASSERT_TRUE(poked) << poked.error().to_string();
  EXPECT_EQ(*poked, PokeResult::delivered);
  EXPECT_EQ(edge.first_line(), "POST /v1/refresh HTTP/1.1");
}

TEST_F(EdgeClientTest, AnEdgeThatIsDownIsNoFailedPoke) {
  EXPECT_EQ(*client().poke(), PokeResult::edge_is_down);
  {
    // The socket of an edge that was killed.
    const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket().string().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_EQ(*client().poke(), PokeResult::edge_is_down);
  const auto status = client().fetch_status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind(), ErrorKind::unavailable);
  EXPECT_EQ(status.error().id(), "edge_not_running");
}

TEST_F(EdgeClientTest, ARefusalCarriesTheEdgesIdAndWords) {
  const OneAnswer edge(
      socket(), json_answer(R"({"id": "state_unreadable", "detail": "the store is damaged"})", "500 Oops"));
  const auto status = client().fetch_status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().id(), "state_unreadable");
  EXPECT_NE(status.error().text().find("the store is damaged"), std::string::npos);
}

TEST_F(EdgeClientTest, AnAnswerThatIsNotUnderstoodIsAnError) {
  for (const std::string body : {"<html>", "[]", "{\"routes\": 1}", "{\"routes\": [{\"host\": 1}]}"}) {
    std::filesystem::remove(socket());
    const OneAnswer edge(socket(), json_answer(body));
    const auto routes = client().fetch_routes();
    ASSERT_FALSE(routes) << body;
    EXPECT_EQ(routes.error().id(), "edge_unresponsive") << body;
  }
}

TEST_F(EdgeClientTest, ASilentEdgeIsGivenUpAfterTheLimit) {
  const OneAnswer edge(socket(), "");
  const auto status = EdgeClient(socket(), 50ms).fetch_status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind(), ErrorKind::timed_out);
  EXPECT_EQ(status.error().id(), "edge_unresponsive");
}

TEST_F(EdgeClientTest, TheNotedControlSocketIsFound) {
  const std::filesystem::path standard = "/run/user/0/hedge/edge.sock";
  EXPECT_EQ(find_control_socket(directory_.path(), standard), standard);
  ASSERT_TRUE(note_control_socket(directory_.path(), "/elsewhere/edge.sock"));
  EXPECT_EQ(find_control_socket(directory_.path(), standard), "/elsewhere/edge.sock");
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "edge-control").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_TRUE(write_file_atomically(directory_ / "edge-control", "not a path", 0600));
  EXPECT_EQ(find_control_socket(directory_.path(), standard), standard);
}

}  // namespace
}  // namespace hedge::router
