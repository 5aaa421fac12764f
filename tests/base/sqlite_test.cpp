#include "base/sqlite.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::sqlite {
namespace {

using test::TemporaryDirectory;

Database open(const std::filesystem::path& path) {
  auto database = Database::open(path, OpenMode::read_write_create, Durability::full, std::chrono::milliseconds(50));
  EXPECT_TRUE(database) << database.error().to_string();
  return std::move(database).value();
}

// As another process sees it; a process is never told of its own locks.
bool holds_a_lock(const std::filesystem::path& path) {
  const pid_t asker = ::fork();
  if (asker == 0) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool asked = fd >= 0 && ::fcntl(fd, F_GETLK, &lock) == 0;
    ::_exit(asked && lock.l_type != F_UNLCK ? 0 : 1);
  }
  int status = 1;
  ::waitpid(asker, &status, 0);
  return status == 0;
}

TEST(Sqlite, CreatesItsFileForTheOwnerAlone) {
  const TemporaryDirectory directory;
  Database database = open(directory / "db");
  struct stat info {};
  ASSERT_EQ(::stat((directory / "db").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
}

TEST(Sqlite, BindsParametersAsValuesNotAsText) {
  const TemporaryDirectory directory;
  Database database = open(directory / "db");
  ASSERT_TRUE(database.execute("CREATE TABLE t (a TEXT, b INTEGER)"));
  ASSERT_TRUE(database.execute("INSERT INTO t (a) VALUES (?)", {"'; DROP TABLE t; --"}));
  auto statement = database.prepare("SELECT a, b FROM t WHERE a = ?");
  ASSERT_TRUE(statement);
  statement->bind(1, std::string_view("'; DROP TABLE t; --"));
  ASSERT_TRUE(*statement->step());
  EXPECT_EQ(statement->text(0), "'; DROP TABLE t; --");
  EXPECT_TRUE(statement->is_null(1));
  EXPECT_FALSE(*statement->step());
}

TEST(Sqlite, RollsATransactionBackWhenItsBodyFails) {
  const TemporaryDirectory directory;
  Database database = open(directory / "db");
  ASSERT_TRUE(database.execute("CREATE TABLE t (a TEXT UNIQUE)"));
  const auto done = database.transaction([&]() -> Result<void> {
    if (auto one = database.execute("INSERT INTO t VALUES ('x')"); !one) return one;
    return database.execute("INSERT INTO t VALUES ('x')");
  });
  EXPECT_EQ(done.error().kind(), ErrorKind::conflict);
  auto count = database.prepare("SELECT count(*) FROM t");
  ASSERT_TRUE(*count->step());
  EXPECT_EQ(count->number(0), 0);
}

TEST(Sqlite, TellsAForeignFileFromAnEmptyDatabase) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file_atomically(directory / "db", std::string(8192, 'x'), 0600));
  const auto database = Database::open(directory / "db", OpenMode::read_write_create, Durability::normal);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().kind(), ErrorKind::corrupt);
}

TEST(Sqlite, SeesThatAnotherConnectionHasCommitted) {
  const TemporaryDirectory directory;
  Database one = open(directory / "db");
  Database two = open(directory / "db");
  ASSERT_TRUE(one.execute("CREATE TABLE t (a TEXT)"));
  const auto before = two.data_version();
  ASSERT_TRUE(two.execute("SELECT 1"));
  EXPECT_EQ(*two.data_version(), *before);
  ASSERT_TRUE(one.execute("INSERT INTO t VALUES ('x')"));
  EXPECT_NE(*two.data_version(), *before);
}

TEST(Sqlite, CopiesADatabaseThatIsInUse) {
  const TemporaryDirectory directory;
  Database database = open(directory / "db");
  ASSERT_TRUE(database.execute("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('kept')"));
  ASSERT_TRUE(database.backup_to(directory / "copy"));
  Database copy = open(directory / "copy");
  auto row = copy.prepare("SELECT a FROM t");
  ASSERT_TRUE(*row->step());
  EXPECT_EQ(row->text(0), "kept");
}

TEST(Sqlite, IsOpenedByManyAtOnceThoughItIsNew) {
  const TemporaryDirectory directory;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      const auto database = Database::open(directory / "db", OpenMode::read_write_create, Durability::full);
      if (!database) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

// POSIX locks go when a process closes any descriptor of the file: another process would then be let in.
TEST(Sqlite, OpeningAFileAgainLeavesTheLocksOfTheFirstConnection) {
  const TemporaryDirectory directory;
  Database first = open(directory / "db");
  ASSERT_TRUE(first.execute("PRAGMA journal_mode=DELETE"));
  ASSERT_TRUE(first.execute("BEGIN IMMEDIATE"));
  ASSERT_TRUE(holds_a_lock(directory / "db"));
  static_cast<void>(Database::open(directory / "db", OpenMode::read_write_create, Durability::full,
                                   std::chrono::milliseconds(0)));
  EXPECT_TRUE(holds_a_lock(directory / "db"));
}

TEST(Sqlite, ReportsAFullDatabase) {
  const TemporaryDirectory directory;
  Database database = open(directory / "db");
  ASSERT_TRUE(database.execute("CREATE TABLE t (a TEXT); PRAGMA max_page_count=10"));
  Result<void> written;
  for (int i = 0; i < 100 && written; ++i) written = database.execute("INSERT INTO t VALUES (?)", {std::string(2000, 'x')});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind(), ErrorKind::no_space);
}

}  // namespace
}  // namespace hedge::sqlite
