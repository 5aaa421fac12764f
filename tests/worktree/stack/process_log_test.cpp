#include "worktree/stack/process_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

class ProcessLogTest : public ::testing::Test {
 protected:
  std::filesystem::path log() const { return directory_ / "web.log"; }
  std::filesystem::path kept() const { return directory_ / "web.log.1"; }
  void append(const UniqueFd& to, const std::string& text) {
    ASSERT_EQ(::write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  test::TemporaryDirectory directory_;
};

TEST_F(ProcessLogTest, is_cut_at_its_limit_while_it_is_written_and_its_end_kept) {
  const auto writer = open_process_log(log());
  ASSERT_TRUE(writer) << writer.error().to_string();
  append(*writer, "0123456789");
  ASSERT_TRUE(bound_process_log(log(), 10));
  EXPECT_EQ(read_file(log()).value(), "0123456789");
  EXPECT_FALSE(path_exists(kept()));
  append(*writer, "abc");
  ASSERT_TRUE(bound_process_log(log(), 10));
  EXPECT_EQ(read_file(kept()).value(), "3456789abc");
  append(*writer, "def");
  EXPECT_EQ(read_file(log()).value(), "def") << "the writer goes on at the beginning";
}

TEST_F(ProcessLogTest, may_be_read_by_nobody_else) {
  const auto writer = open_process_log(log());
  append(*writer, "0123456789");
  ASSERT_TRUE(bound_process_log(log(), 1));
  for (const auto& path : {log(), kept()}) {
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << path;
  }
}

TEST_F(ProcessLogTest, that_is_absent_needs_no_bound) {
  EXPECT_TRUE(bound_process_log(log(), 1));
  EXPECT_EQ(read_end(log(), 10), "");
}

TEST_F(ProcessLogTest, is_cut_also_where_its_end_cannot_be_kept) {
  const auto writer = open_process_log(log());
  append(*writer, "0123456789");
  ASSERT_TRUE(ensure_directory(kept() / "in-the-way"));
  EXPECT_FALSE(bound_process_log(log(), 1));
  EXPECT_EQ(read_file(log()).value(), "");
}

TEST_F(ProcessLogTest, tells_its_end_whatever_its_size) {
  const auto writer = open_process_log(log());
  append(*writer, "begin");
  ASSERT_EQ(::ftruncate(writer->get(), 200L << 20), 0);  // sparse
  append(*writer, "the end");
  EXPECT_EQ(read_end(log(), 7), "the end");
}

}  // namespace
}  // namespace hedge::worktree
