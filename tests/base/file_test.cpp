#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/file_lock.h"
#include "tests/support/temporary_directory.h"

namespace hedge {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;

std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

TEST(File, IsWrittenWithTheExactModeWhateverTheUmask) {
  const TemporaryDirectory directory;
  const mode_t before = ::umask(0077);
  ASSERT_TRUE(write_file_atomically(directory / "shared", "x", 0644));
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat((directory / "shared").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0644U);
}

TEST(File, ReplacesASymbolicLinkInsteadOfFollowingIt) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file_atomically(directory / "target", "precious", 0600));
  fs::create_symlink(directory / "target", directory / "link");
  ASSERT_TRUE(write_file_atomically(directory / "link", "new", 0600));
  EXPECT_EQ(*read_file(directory / "target"), "precious");
  EXPECT_EQ(*read_file(directory / "link"), "new");
  EXPECT_FALSE(fs::is_symlink(directory / "link"));
}

// A file size limit makes write() fail as a full disk does, in a child so that the limit stays there.
TEST(File, KeepsTheOldContentWhenTheDiskIsFull) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file_atomically(directory / "state", "old", 0600));
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1024, 1024};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto written = write_file_atomically(directory / "state", std::string(4096, 'n'), 0600);
    ::_exit(written ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the write must be reported as failed";
  EXPECT_EQ(*read_file(directory / "state"), "old");
  EXPECT_EQ(entries(directory.path()), 1U) << "no temporary file is left";
}

TEST(File, RefusesToReadMoreThanTheLimit) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file_atomically(directory / "big", std::string(2000, 'x'), 0600));
  EXPECT_EQ(read_file(directory / "big", 1999).error().kind(), ErrorKind::invalid_input);
  EXPECT_TRUE(read_file(directory / "big", 2000));
  EXPECT_EQ(read_file(directory / "absent").error().kind(), ErrorKind::not_found);
}

TEST(Directory, IsMadeWithItsParentsAndNamesWhatIsInTheWay) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(ensure_directory(directory / "a/b/c", 0700));
  ASSERT_TRUE(ensure_directory(directory / "a/b/c", 0700));
  ASSERT_TRUE(write_file_atomically(directory / "file", "", 0600));
  EXPECT_EQ(ensure_directory(directory / "file").error().kind(), ErrorKind::already_exists);
  fs::create_symlink(directory / "nowhere", directory / "dangling");
  EXPECT_EQ(ensure_directory(directory / "dangling").error().kind(), ErrorKind::already_exists);
}

TEST(Removal, OfTheAbsentIsSuccessAndNeverFollowsLinks) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(remove_file(directory / "absent"));
  EXPECT_TRUE(remove_tree(directory / "absent"));
  ASSERT_TRUE(ensure_directory(directory / "kept"));
  ASSERT_TRUE(write_file_atomically(directory / "kept/file", "x", 0600));
  ASSERT_TRUE(ensure_directory(directory / "gone"));
  fs::create_directory_symlink(directory / "kept", directory / "gone/link");
  EXPECT_TRUE(remove_tree(directory / "gone"));
  EXPECT_TRUE(path_exists(directory / "kept/file"));
}

TEST(FileLock, IsBusyWhileAnotherHoldsItAndFreeAfterwards) {
  const TemporaryDirectory directory;
  const auto path = directory / "lock";
  {
    auto held = FileLock::acquire(path, FileLock::Mode::exclusive, std::chrono::milliseconds(0));
    ASSERT_TRUE(held);
    auto second = FileLock::acquire(path, FileLock::Mode::exclusive, std::chrono::milliseconds(20));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind(), ErrorKind::busy);
    ASSERT_EQ(second.error().hints().size(), 1U);
    EXPECT_EQ(second.error().hints().front(), "held by process " + std::to_string(::getpid()));
  }
  EXPECT_TRUE(FileLock::acquire(path, FileLock::Mode::exclusive, std::chrono::milliseconds(0)));
}

TEST(FileLock, DiesWithItsProcess) {
  const TemporaryDirectory directory;
  const auto path = directory / "lock";
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto held = FileLock::acquire(path, FileLock::Mode::exclusive, std::chrono::milliseconds(0));
    [[maybe_unused]] const ssize_t told = ::write(ready[1], held ? "y" : "n", 1);
    ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileLock::acquire(path, FileLock::Mode::exclusive, std::chrono::milliseconds(0)));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace hedge
