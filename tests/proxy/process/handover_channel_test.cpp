#include "proxy/process/handover_channel.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/open_descriptors.h"

namespace hedge::proxy {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLimit{5000};

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    a.reset(ends[0]);
    b.reset(ends[1]);
  }
  UniqueFd a;
  UniqueFd b;
};

ino_t inode_of(int descriptor) {
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 ? info.st_ino : 0;
}

TEST(HandoverChannel, CarriesLinesAndTheDescriptorsThatGoWithThem) {
  const Pair pair;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const UniqueFd in(pipe[0]);
  const UniqueFd out(pipe[1]);
  ASSERT_TRUE(send_line(pair.a.get(), "nothing"));
  ASSERT_TRUE(send_line(pair.a.get(), "two", {in.get(), out.get()}));
  ASSERT_TRUE(send_line(pair.a.get(), "one", {in.get()}));
  HandoverReader reader(pair.b.get());
  EXPECT_EQ(reader.read_line(kLimit).value(), "nothing");
  EXPECT_EQ(reader.read_line(kLimit).value(), "two");
  EXPECT_EQ(reader.read_line(kLimit).value(), "one");
  const auto two = reader.take_descriptors(2);
  ASSERT_TRUE(two);
  EXPECT_EQ(inode_of((*two)[0].get()), inode_of(in.get()));
  EXPECT_EQ(inode_of((*two)[1].get()), inode_of(out.get()));
  EXPECT_TRUE(reader.take_descriptors(1));
  EXPECT_FALSE(reader.take_descriptors(1)) << "no more were sent";
}

TEST(HandoverChannel, ReadsTheBytesOfABodyAndEndsOfLinesOfBothKinds) {
  const Pair pair;
  ASSERT_TRUE(send_line(pair.a.get(), "head\r\n\r\nbody"));
  HandoverReader reader(pair.b.get());
  EXPECT_EQ(reader.read_line(kLimit).value(), "head");
  EXPECT_EQ(reader.read_line(kLimit).value(), "");
  EXPECT_EQ(reader.read_bytes(4, kLimit).value(), "body");
}

TEST(HandoverChannel, NeitherWaitsForEverNorTakesEverything) {
  Pair pair;
  HandoverReader reader(pair.b.get());
  EXPECT_EQ(reader.read_line(milliseconds(1)).error().kind(), ErrorKind::timed_out);
  const std::string large(80'000, 'x');
  ASSERT_TRUE(send_line(pair.a.get(), large));
  EXPECT_EQ(reader.read_line(kLimit).error().kind(), ErrorKind::io) << "a line without an end";
  EXPECT_EQ(reader.read_bytes(1U << 20, kLimit).error().kind(), ErrorKind::io);
  HandoverReader fresh(pair.b.get());
  pair.a.reset();
  while (fresh.read_bytes(1, kLimit)) continue;
  EXPECT_EQ(fresh.read_line(kLimit).error().kind(), ErrorKind::unavailable);
}

TEST(HandoverChannel, SaysWhenNobodyTakesWhatIsSent) {
  Pair pair;
  EXPECT_FALSE(send_line(pair.a.get(), "x", std::vector<int>(kMostDescriptors + 1, 0)));
  const std::string block(60'000, 'x');
  bool was_taken = true;
  for (int i = 0; i < 1000 && was_taken; ++i) was_taken = static_cast<bool>(send_line(pair.a.get(), block));
  EXPECT_FALSE(was_taken) << "it does not wait for a reader";
  pair.b.reset();
  EXPECT_FALSE(send_line(pair.a.get(), "x"));
}

TEST(HandoverChannel, ClosesWhatNobodyTook) {
  const Pair pair;
  const std::size_t before = test::open_descriptors();
  {
    HandoverReader reader(pair.b.get());
    ASSERT_TRUE(send_line(pair.a.get(), "x", {0, 1, 2}));
    ASSERT_TRUE(reader.read_line(kLimit));
    EXPECT_EQ(test::open_descriptors(), before + 3);
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace hedge::proxy
