#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "proxy/access_log.h"
#include "tests/support/temporary_directory.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

AccessRecord record() {
  AccessRecord record;
  record.start = std::chrono::system_clock::time_point(1764426600123ms);
  record.peer = "127.0.0.1";
  record.host = "alpha.dev.localhost";
  record.method = "GET";
  record.target = "/x?y";
  record.scheme = "https";
  record.request_id = "id";
  record.worktree = "alpha";
  record.upstream = "abc:8000";
  record.status = 200;
  record.bytes_out = 5;
  record.connect = 17us;
  return record;
}

TEST(AccessLines, AreOneJsonObjectWithTheFieldsOfTheRecord) {
  AccessLineFormatter formatter;
  const std::string_view line = formatter.format(record());
  ASSERT_TRUE(line.ends_with("}\n"));
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["time"], "2025-11-29T14:30:00.123Z");
  EXPECT_EQ(json["host"], "alpha.dev.localhost");
  EXPECT_EQ(json["worktree"], "alpha");
  EXPECT_EQ(json["target"], "/x?y");
  EXPECT_EQ(json["status"], 200);
  EXPECT_EQ(json["bytes_out"], 5);
  EXPECT_EQ(json["connect_us"], 17);
  EXPECT_EQ(json["upstream"], "abc:8000");
  EXPECT_FALSE(json.contains("error"));
  EXPECT_FALSE(json.contains("retried"));
}

TEST(AccessLines, StayValidJsonAndOneLineWhateverAClientSends) {
  AccessRecord hostile = record();
  hostile.target = "/\"\\\n\r\t\x01\x7f\xff\xc3";
  hostile.host = "\"},{\"";
  hostile.error_id = "upstream_closed";
  hostile.retried = true;
  AccessLineFormatter formatter;
  const std::string_view line = formatter.format(hostile);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["host"], "\"},{\"");
  EXPECT_EQ(json["error"], "upstream_closed");
  EXPECT_EQ(json["retried"], true);
}

TEST(AccessLines, BoundTheTarget) {
  const std::string target(10000, 'q');
  AccessRecord large = record();
  large.target = target;
  large.host = target;
  AccessLineFormatter formatter;
  const auto json = nlohmann::json::parse(formatter.format(large));
  EXPECT_EQ(json["host"].get<std::string>().size(), AccessLineFormatter::kMaxTextBytes);
  EXPECT_EQ(json["target"].get<std::string>().size(), AccessLineFormatter::kMaxTargetBytes);
}

TEST(AccessLines, HaveRoomForTheLongestOfEverything) {
  const std::string worst(10000, '\x01');
  AccessRecord record;
  record.peer = record.host = record.method = record.target = record.scheme = record.request_id =
      record.error_id = worst;
  record.worktree = record.upstream = worst;
  record.bytes_in = record.bytes_out = UINT64_MAX;
  record.resolve = record.connect = record.first_byte = record.total = std::chrono::microseconds::max();
  record.retried = true;
  AccessLineFormatter formatter;
  EXPECT_TRUE(nlohmann::json::accept(formatter.format(record)));
}

TEST(AccessLines, TellTheSecondAnewWhenItChanges) {
  AccessLineFormatter formatter;
  std::string lines;
  AccessRecord next = record();
  lines += formatter.format(next);
  next.start += 1s;
  lines += formatter.format(next);
  EXPECT_NE(lines.find("14:30:00.123Z"), std::string::npos);
  EXPECT_NE(lines.find("14:30:01.123Z"), std::string::npos);
}

TEST(AccessLogs, HoldEveryLineInItsOrderWhenTheyEnd) {
  test::TemporaryDirectory directory;
  std::string expected;
  {
    auto log = AccessLog::open(directory / "access.log");
    ASSERT_TRUE(log);
    for (int i = 0; i < 5000; ++i) {
      const std::string line = "line " + std::to_string(i) + "\n";
      (*log)->write(line);
      expected += line;
    }
  }
  EXPECT_TRUE(text_of(directory / "access.log") == expected);
}

TEST(AccessLogs, AreForTheirOwnerOnly) {
  test::TemporaryDirectory directory;
  ASSERT_TRUE(AccessLog::open(directory / "access.log"));
  EXPECT_EQ(std::filesystem::status(directory / "access.log").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(AccessLogs, GoOnInANewFileAfterTheOldOneWasMovedAway) {
  test::TemporaryDirectory directory;
  {
    auto log = AccessLog::open(directory / "access.log");
    ASSERT_TRUE(log);
    (*log)->write("old\n");
    std::filesystem::rename(directory / "access.log", directory / "access.log.1");
    (*log)->reopen();
    // The file appears when the writer has opened it anew.
    const auto limit = std::chrono::steady_clock::now() + 10s;
    while (!std::filesystem::exists(directory / "access.log") && std::chrono::steady_clock::now() < limit)
      std::this_thread::yield();
    (*log)->write("new\n");
  }
  EXPECT_EQ(text_of(directory / "access.log.1"), "old\n");
  EXPECT_EQ(text_of(directory / "access.log"), "new\n");
}

TEST(AccessLogs, DropAndCountWhatIsTooMuchInsteadOfWaiting) {
  test::TemporaryDirectory directory;
  auto log = AccessLog::open(directory / "access.log");
  ASSERT_TRUE(log);
  (*log)->write(std::string(AccessLog::kMaxPendingBytes + 1, 'x'));
  EXPECT_EQ((*log)->dropped(), 1U);
}

struct SocketPair {
  SocketPair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ours = UniqueFd(fds[0]);
    its = UniqueFd(fds[1]);
  }
  // Everything until the other side is closed.
  std::string read_all() const {
    std::string out;
    std::array<char, 65536> block{};
    for (ssize_t got = 0; (got = ::read(ours.get(), block.data(), block.size())) > 0;)
      out.append(block.data(), static_cast<std::size_t>(got));
    return out;
  }
  UniqueFd ours;
  UniqueFd its;
};

// What systemd gives a service as its standard output.
TEST(AccessLogs, GoToASocketThatIsOpenAndStayThereWhenFilesAreOpenedAnew) {
  SocketPair pair;
  {
    auto log = AccessLog::open_descriptor(pair.its.get());
    ASSERT_TRUE(log) << log.error().to_string();
    pair.its.reset();
    (*log)->write("old\n");
    (*log)->reopen();
    (*log)->write("new\n");
  }
  EXPECT_EQ(pair.read_all(), "old\nnew\n");
}

TEST(AccessLogs, WaitForTheReaderOfASocketThatDoesNotBlock) {
  SocketPair pair;
  ASSERT_EQ(::fcntl(pair.its.get(), F_SETFL, O_NONBLOCK), 0);
  const std::string much(3U << 20, 'x');
  std::string got;
  std::thread reader([&] { got = pair.read_all(); });
  {
    auto log = AccessLog::open_descriptor(pair.its.get());
    pair.its.reset();
    EXPECT_TRUE(log);
    if (log) (*log)->write(much);
  }
  reader.join();
  EXPECT_TRUE(got == much) << got.size();
}

TEST(AccessLogs, CannotGoToADescriptorThatIsClosed) {
  EXPECT_FALSE(AccessLog::open_descriptor(-1));
}

TEST(AccessLogs, CannotBeOpenedWhereThereIsNoDirectory) {
  test::TemporaryDirectory directory;
  EXPECT_FALSE(AccessLog::open(directory / "missing" / "access.log"));
}

}  // namespace
}  // namespace hedge::proxy
