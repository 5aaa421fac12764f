// How a takeover ends when the running edge takes its word back, or dies: its side is a script here.
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/unique_fd.h"
#include "proxy/process/takeover.h"
#include "tests/support/temporary_directory.h"

namespace hedge::proxy {
namespace {

constexpr std::chrono::seconds kLimit{10};

// The connection of the new process, after everything was handed over.
class RunningEdge {
 public:
  explicit RunningEdge(UniqueFd connection)
      : connection_(std::move(connection)), reader_(connection_.get()) {}
  bool hears(std::string_view word) {
    const Result<std::string> line = reader_.read_line(kLimit);
    return line && *line == word;
  }
  void say(std::string_view line) { EXPECT_TRUE(send_line(connection_.get(), line)); }
  void hand_over(const std::filesystem::path& path) {
    std::string line = "some line";
    while (!line.empty()) line = reader_.read_line(kLimit).value_or("");
    say("HTTP/1.1 101 Switching Protocols\r\n\r");
    const UniqueFd any(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_TRUE(send_line(connection_.get(), encode(HandedControl{path, path.parent_path(), false}),
                          {any.get(), any.get()}));
    say(encode(HandoverComplete()));
  }
  void wait_for_a_word() {
    pollfd wait{connection_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, 10'000), 1);
  }
  void close() { connection_.reset(); }

 private:
  UniqueFd connection_;
  HandoverReader reader_;
};

class TakeoverEnd : public testing::Test {
 protected:
  using Script = std::function<void(RunningEdge&)>;

  // Begins a takeover from an edge that does this once it has handed over, and then closes the connection.
  Takeover begin(Script script) {
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.string().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    edge_ = std::thread([this, listener = std::move(listener), script = std::move(script)] {
      RunningEdge edge(UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
      edge.hand_over(path_);
      script(edge);
    });
    auto takeover = Takeover::begin(path_, path_.parent_path());
    EXPECT_TRUE(takeover && *takeover) << (takeover ? "" : takeover.error().to_string());
    return std::move(**takeover);
  }
  void wait_for_edge() {
    if (edge_.joinable()) edge_.join();
  }
  void TearDown() override { wait_for_edge(); }

 private:
  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "edge.sock";
  std::thread edge_;
};

TEST_F(TakeoverEnd, AProcessThatIsLateHearsThatTheEdgeTookItsWordBackAndWentOn) {
  Takeover takeover = begin([](RunningEdge& edge) {
    EXPECT_TRUE(edge.hears(kHandoverReady));
    edge.say(kHandoverGo);
    edge.say(kHandoverCancelled);
  });
  ASSERT_TRUE(takeover.wait_for_go());
  wait_for_edge();  // it goes on, and its end of the connection is closed
  EXPECT_FALSE(takeover.confirm()) << "two would serve";
}

TEST_F(TakeoverEnd, AnEdgeThatDiesAfterItsWordLeavesThePlaceToTheNewProcess) {
  Takeover takeover = begin([](RunningEdge& edge) {
    EXPECT_TRUE(edge.hears(kHandoverReady));
    edge.say(kHandoverGo);
  });
  ASSERT_TRUE(takeover.wait_for_go());
  wait_for_edge();
  EXPECT_TRUE(takeover.confirm());
}

TEST_F(TakeoverEnd, AnEdgeThatDiesWhileTheNewProcessPreparesLeavesThePlaceToIt) {
  Takeover takeover = begin([](RunningEdge& edge) { edge.close(); });
  wait_for_edge();
  EXPECT_TRUE(takeover.wait_for_go()) << "nobody would serve";
  EXPECT_TRUE(takeover.confirm());
}

TEST_F(TakeoverEnd, AnEdgeThatDiesWithAWordUnreadLeavesThePlaceToo) {
  Takeover takeover = begin([](RunningEdge& edge) {
    edge.wait_for_a_word();
    edge.close();
  });
  EXPECT_TRUE(takeover.wait_for_go());
  wait_for_edge();
}

TEST_F(TakeoverEnd, AnEdgeThatTakesItsWordBackWhileTheNewProcessPreparesIsLeftAlone) {
  Takeover takeover = begin([](RunningEdge& edge) { edge.say(kHandoverCancelled); });
  wait_for_edge();
  const Result<void> go = takeover.wait_for_go();
  ASSERT_FALSE(go);
  EXPECT_EQ(go.error().id(), "edge_unresponsive");
}

}  // namespace
}  // namespace hedge::proxy
