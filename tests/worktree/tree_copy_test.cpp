#include "worktree/seed/tree_copy.h"

#include <array>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/unique_fd.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace fs = std::filesystem;
namespace {

class TreeCopyTest : public ::testing::Test {
 protected:
  TreeCopyTest() {
    fs::create_directories(main() / "node_modules");
    fs::create_directories(worktree());
  }

  fs::path main() const { return directory_ / "main"; }
  fs::path worktree() const { return directory_ / "worktree"; }
  TreeCopy copy(unsigned workers = 4) const { return {main(), worktree(), "node_modules", "id", workers}; }

  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(write_file_atomically(path, text, 0644));
  }
  static struct stat look(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info;
  }

  hedge::test::TemporaryDirectory directory_;
};

TEST_F(TreeCopyTest, CopiesContentsModesAndTimes) {
  const fs::path file = main() / "node_modules/.bin/tool";
  write(file, "#!/bin/sh\n");
  ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
  const std::array<timespec, 2> old{timespec{1000, 5}, timespec{2000, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), old.data(), 0), 0);
  ASSERT_EQ(::utimensat(AT_FDCWD, file.parent_path().c_str(), old.data(), 0), 0);
  const auto report = copy_tree(copy());
  ASSERT_TRUE(report) << report.error().to_string();
  const fs::path copied = worktree() / "node_modules/.bin/tool";
  EXPECT_EQ(*read_file(copied), "#!/bin/sh\n");
  EXPECT_EQ(look(copied).st_mode & 07777, 0755U);
  EXPECT_EQ(look(copied).st_mtim.tv_sec, 2000);
  EXPECT_EQ(look(copied).st_mtim.tv_nsec, 7);
  EXPECT_EQ(look(copied.parent_path()).st_mtim.tv_sec, 2000);
  EXPECT_EQ(report->files, 1U);
  EXPECT_EQ(report->bytes, 10U);
}

TEST_F(TreeCopyTest, W23_WritingIntoTheCopyNeverReachesTheOriginal) {
  for (int i = 0; i < 50; ++i) write(main() / "node_modules" / ("f" + std::to_string(i)), "original");
  // A package store that shares files by hard links inside the source.
  fs::create_hard_link(main() / "node_modules/f0", main() / "node_modules/linked");
  ASSERT_TRUE(copy_tree(copy()));
  for (const auto& entry : fs::directory_iterator(worktree() / "node_modules")) {
    EXPECT_EQ(fs::hard_link_count(entry.path()), 1U) << entry.path();
    const UniqueFd fd(::open(entry.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    ASSERT_EQ(::write(fd.get(), "!", 1), 1);
  }
  for (const auto& entry : fs::directory_iterator(main() / "node_modules"))
    EXPECT_EQ(*read_file(entry.path()), "original");
}

TEST_F(TreeCopyTest, W23_RelativeLinksResolveInsideTheWorktree) {
  write(main() / "packages/core/index.js", "main");
  write(worktree() / "packages/core/index.js", "worktree");
  fs::create_directories(main() / "node_modules/@x");
  fs::create_symlink("../../packages/core", main() / "node_modules/@x/core");
  const auto report = copy_tree(copy());
  ASSERT_TRUE(report);
  EXPECT_EQ(*read_file(worktree() / "node_modules/@x/core/index.js"), "worktree");
  EXPECT_TRUE(report->links_outside.empty());
}

TEST_F(TreeCopyTest, W23_LinksThatLeaveTheCheckoutAreReported) {
  fs::create_symlink("../../elsewhere", main() / "node_modules/out");
  fs::create_symlink("/usr/bin/env", main() / "node_modules/absolute");
  const auto report = copy_tree(copy());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->links_outside.size(), 2U);
  EXPECT_EQ(fs::read_symlink(worktree() / "node_modules/out"), "../../elsewhere");
}

TEST_F(TreeCopyTest, SkipsSocketsFifosAndNestedWorktrees) {
  ASSERT_EQ(::mkfifo((main() / "node_modules/pipe").c_str(), 0600), 0);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (main() / "node_modules/sock").string();
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  write(main() / "node_modules/nested/.git", "gitdir: /srv/shop/.git/worktrees/nested\n");
  write(main() / "node_modules/nested/work", "x");
  write(main() / "node_modules/installed/.git/HEAD", "ref: refs/heads/main\n");
  const auto report = copy_tree(copy());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->skipped.size(), 3U);
  EXPECT_FALSE(path_exists(worktree() / "node_modules/nested"));
  EXPECT_TRUE(path_exists(worktree() / "node_modules/installed/.git/HEAD"));
}

TEST_F(TreeCopyTest, AReadOnlyDirectoryIsFilledFirst) {
  write(main() / "node_modules/locked/file", "x");
  ASSERT_EQ(::chmod((main() / "node_modules/locked").c_str(), 0555), 0);
  ASSERT_TRUE(copy_tree(copy()));
  EXPECT_EQ(look(worktree() / "node_modules/locked").st_mode & 07777, 0555U);
  ASSERT_EQ(::chmod((main() / "node_modules/locked").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((worktree() / "node_modules/locked").c_str(), 0755), 0);
}

TEST_F(TreeCopyTest, ManyFilesInParallelAllArrive) {
  for (int i = 0; i < 500; ++i) {
    write(main() / "node_modules" / std::to_string(i % 20) / std::to_string(i), std::to_string(i));
  }
  const auto report = copy_tree(copy(8));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->files, 500U);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(*read_file(worktree() / "node_modules" / std::to_string(i % 20) / std::to_string(i)),
              std::to_string(i));
  }
}

TEST_F(TreeCopyTest, AnExistingTargetIsLeftAlone) {
  write(worktree() / "node_modules/mine", "x");
  const auto report = copy_tree(copy());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind(), ErrorKind::already_exists);
}

TEST_F(TreeCopyTest, IsNeitherReadNorWrittenThroughALinkedDirectory) {
  write(main() / "var/cache/page", "cached");
  fs::create_directories(directory_ / "elsewhere");
  fs::create_symlink(directory_ / "elsewhere", worktree() / "var");
  TreeCopy wanted{main(), worktree(), "var/cache", "id"};
  const auto written = copy_tree(wanted);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind(), ErrorKind::refused);
  EXPECT_NE(written.error().text().find("var is a symbolic link"), std::string::npos)
      << written.error().text();
  EXPECT_TRUE(fs::is_empty(directory_ / "elsewhere"));
  std::swap(wanted.source_root, wanted.target_root);
  EXPECT_EQ(copy_tree(wanted).error().kind(), ErrorKind::refused);
}

TEST_F(TreeCopyTest, W19_WhatAKilledRunLeftIsReplacedAndNeverTakenForTheWhole) {
  write(main() / "node_modules/a", "a");
  write(worktree() / ".node_modules.hedge-seed-id/half", "x");
  ASSERT_TRUE(copy_tree(copy()));
  EXPECT_FALSE(path_exists(worktree() / "node_modules/half"));
  EXPECT_FALSE(path_exists(worktree() / ".node_modules.hedge-seed-id"));
}

TEST_F(TreeCopyTest, OneUnreadableFileFailsTheWholeAndLeavesNothing) {
  if (::geteuid() == 0) {
    // Root reads everything: take what even root cannot open, a source that vanished into a directory loop.
    const TreeCopy absent{main(), worktree(), "not_there", "id", 1};
    EXPECT_EQ(copy_tree(absent).error().kind(), ErrorKind::not_found);
    EXPECT_FALSE(path_exists(worktree() / "not_there"));
    return;
  }
  write(main() / "node_modules/secret", "x");
  ASSERT_EQ(::chmod((main() / "node_modules/secret").c_str(), 0), 0);
  EXPECT_EQ(copy_tree(copy()).error().kind(), ErrorKind::permission);
  EXPECT_FALSE(path_exists(worktree() / "node_modules"));
}

TEST_F(TreeCopyTest, TellsWhatItDid) {
  CopyReport report;
  report.files = 1204;
  report.reflinked = 1204;
  report.bytes = 38100000;
  report.took = std::chrono::milliseconds(420);
  EXPECT_EQ(report.summary(), "reflink, 1204 files, 38.1 MB, 0.4 s");
  report.reflinked = 0;
  EXPECT_TRUE(report.summary().starts_with("copy, "));
}

// Larger than what the disk says to have; a reflink takes none of it.
TEST_F(TreeCopyTest, D20_ADiskWithoutRoomIsToldBeforeTheCopyUnlessNoRoomIsNeeded) {
  write(main() / "node_modules/a", std::string(100'000, 'a'));
  write(main() / "node_modules/b", std::string(100'000, 'b'));
  const auto can_reflink = copy_tree(copy());
  ASSERT_TRUE(can_reflink);
  fs::remove_all(worktree() / "node_modules");
  TreeCopy wanted = copy();
  wanted.space = [](const fs::path&) { return std::optional<std::uint64_t>(105'000); };
  const auto report = copy_tree(wanted);
  if (can_reflink->reflinked == 2) {
    ASSERT_TRUE(report) << report.error().to_string();
    return;
  }
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().id(), "disk_full");
  EXPECT_NE(report.error().text().find("needed"), std::string::npos) << report.error().to_string();
  EXPECT_TRUE(fs::is_empty(worktree())) << "nothing half-made is left";
}

TEST_F(TreeCopyTest, D20_NotEvenOneFileIsBegunForWhichThereIsNoRoom) {
  write(main() / "node_modules/a", std::string(100'000, 'a'));
  TreeCopy wanted = copy();
  wanted.space = [](const fs::path&) { return std::optional<std::uint64_t>(10); };
  const auto report = copy_tree(wanted);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().id(), "disk_full");
  EXPECT_TRUE(fs::is_empty(worktree()));
}

TEST_F(TreeCopyTest, LeavesOutWhatIsExcludedAndSaysSo) {
  write(main() / "node_modules/keep", "k");
  write(main() / "node_modules/sub/leave", "l");
  TreeCopy wanted = copy();
  wanted.excluded = {"node_modules/sub/leave"};
  const auto report = copy_tree(wanted);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(path_exists(worktree() / "node_modules/keep"));
  EXPECT_TRUE(path_exists(worktree() / "node_modules/sub"));
  EXPECT_FALSE(path_exists(worktree() / "node_modules/sub/leave"));
  EXPECT_EQ(report->skipped, std::vector<std::string>{"node_modules/sub/leave"});
}

}  // namespace
}  // namespace hedge::worktree
