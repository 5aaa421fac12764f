#include "worktree/seed/denied_values.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace fs = std::filesystem;
namespace {

class DeniedValuesTest : public ::testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text) {
    fs::create_directories((root() / path).parent_path());
    ASSERT_TRUE(write_file_atomically(root() / path, text, 0644));
  }
  fs::path root() const { return directory_ / "main"; }
  std::string find(const std::vector<std::string>& paths) const {
    return find_denied(root(), paths, {"prod.*.com"});
  }

  hedge::test::TemporaryDirectory directory_;
};

TEST_F(DeniedValuesTest, EnvironmentFilesAreFoundAtAnyDepth) {
  write("private/a/b/local.env", "A=1\n\nHOST=db.PROD.example.com\n");
  EXPECT_EQ(find({"private"}), "private/a/b/local.env:3 matches prod.*.com");
  EXPECT_EQ(find({"private/a/b/local.env"}), "private/a/b/local.env:3 matches prod.*.com");
  EXPECT_EQ(find_denied(root(), {"private"}, {}), "");
}

TEST_F(DeniedValuesTest, OtherFilesMayNameWhatTheyLike) {
  write("private/README", "prod.example.com");
  write("private/.envrc/page", "prod.example.com");
  write("private/.env", "A=dev.example.com");
  EXPECT_EQ(find({"private", "absent"}), "");
}

TEST_F(DeniedValuesTest, AFileThatCannotBeReadCountsAsDenied) {
  // Larger than what is read: no permission would keep a superuser out.
  write("private/.env", "A=1\n");
  fs::resize_file(root() / "private/.env", (64UL << 20) + 1);
  EXPECT_EQ(find({"private"}), "private/.env cannot be read, and might match seed.deny");
}

TEST_F(DeniedValuesTest, ALinkIsReadAsAnApplicationWouldAndADirectoryBehindOneIsNot) {
  write("private/file", "x");
  write("../secrets/db.txt", "prod.example.com");
  write("../secrets/.env", "prod.example.com");
  fs::create_symlink("nowhere", root() / "private/.env.dangling");
  fs::create_directory_symlink("../../secrets", root() / "private/linked");
  EXPECT_EQ(find({"private"}), "");
  fs::create_symlink("../../secrets/db.txt", root() / "private/.env");
  EXPECT_EQ(find({"private"}), "private/.env:1 matches prod.*.com");
}

TEST_F(DeniedValuesTest, WhatIsNotCopiedIsNotLookedAt) {
  write("trees/x/.git", "gitdir: /r/.git/worktrees/x\n");
  write("trees/x/.env", "prod.example.com");
  ASSERT_EQ(::mkfifo((root() / "trees/.env").c_str(), 0600), 0);
  EXPECT_EQ(find({"trees"}), "");
}

}  // namespace
}  // namespace hedge::worktree
