#include "worktree/data/sqlite_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/sqlite.h"
#include "tests/support/temporary_directory.h"
#include "worktree/git/leftovers.h"

namespace hedge::worktree {
namespace {

using ::testing::HasSubstr;

class SqliteDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ensure_directory(directory_ / "main/data"));
    ASSERT_TRUE(ensure_directory(directory_ / "wt"));
    spec_.id = "01JDQ0000000000000000ALPHA";
    spec_.checkout = directory_ / "wt";
    spec_.app = {directory_ / "wt/data/shop.sqlite3", directory_ / "main/data/shop.sqlite3",
                 directory_ / "state/alpha.app"};
    spec_.test = {directory_ / "wt/data/shop_test.sqlite3", directory_ / "main/data/shop_test.sqlite3",
                  directory_ / "state/alpha.test"};
  }

  static sqlite::Database open(const std::filesystem::path& file) {
    return sqlite::Database::open(file, sqlite::OpenMode::read_write_create, sqlite::Durability::normal)
        .value();
  }
  static void add_note(sqlite::Database& database, std::string_view text) {
    ASSERT_TRUE(database.execute("CREATE TABLE IF NOT EXISTS notes (text TEXT)"));
    ASSERT_TRUE(database.execute("INSERT INTO notes VALUES (?)", {text}));
  }
  static std::string notes(const std::filesystem::path& file) {
    auto database = open(file);
    auto statement = database.prepare("SELECT group_concat(text, ',') FROM notes");
    return statement && statement->step().value_or(false) ? statement->text(0) : "unreadable";
  }

  std::filesystem::path unfinished() const {
    return spec_.app.file.parent_path() / (".shop.sqlite3.hedge-new-" + spec_.id);
  }
  SqliteData data() const { return SqliteData(spec_); }

  test::TemporaryDirectory directory_;
  SqliteSpec spec_;
};

TEST_F(SqliteDataTest, gets_a_copy_of_mains_database_also_while_main_is_writing_to_it) {
  auto main = open(spec_.app.source);
  add_note(main, "checkpointed");
  ASSERT_TRUE(main.execute("BEGIN"));
  ASSERT_TRUE(main.execute("COMMIT"));
  add_note(main, "in the log");  // WAL mode: not yet in the file itself
  ASSERT_TRUE(main.execute("BEGIN IMMEDIATE"));
  ASSERT_TRUE(main.execute("INSERT INTO notes VALUES ('not committed')"));
  const auto change = data().converge();
  ASSERT_TRUE(change) << change.error().to_string();
  EXPECT_EQ(change->action, Action::created);
  EXPECT_EQ(notes(spec_.app.file), "checkpointed,in the log");
  EXPECT_EQ(data().check()->presence, Presence::present);
}

TEST_F(SqliteDataTest, what_one_writes_the_other_does_not_see) {
  auto main = open(spec_.app.source);
  add_note(main, "shared past");
  ASSERT_TRUE(data().converge());
  auto own = open(spec_.app.file);
  add_note(own, "mine");
  EXPECT_EQ(notes(spec_.app.source), "shared past");
  EXPECT_EQ(notes(spec_.app.file), "shared past,mine");
}

TEST_F(SqliteDataTest, without_a_database_in_main_an_empty_one_is_made) {
  EXPECT_EQ(data().check()->presence, Presence::missing);
  EXPECT_THAT(data().converge()->detail, HasSubstr("empty"));
  EXPECT_TRUE(path_exists(spec_.app.file));
  EXPECT_TRUE(path_exists(spec_.test.file));
  EXPECT_FALSE(path_exists(spec_.app.source)) << "main's is not made by looking for it";
}

TEST_F(SqliteDataTest, K11_a_second_run_changes_nothing) {
  ASSERT_TRUE(data().converge());
  auto own = open(spec_.app.file);
  add_note(own, "mine");
  EXPECT_EQ(data().converge()->action, Action::none);
  EXPECT_EQ(notes(spec_.app.file), "mine");
}

TEST_F(SqliteDataTest, W19_a_half_made_copy_is_never_taken_for_a_database) {
  auto main = open(spec_.app.source);
  add_note(main, "whole");
  ASSERT_TRUE(ensure_directory(spec_.app.file.parent_path()));
  ASSERT_TRUE(write_file_atomically(unfinished(), "half of a page", 0600));
  EXPECT_EQ(data().check()->presence, Presence::missing);
  ASSERT_TRUE(data().converge());
  EXPECT_EQ(notes(spec_.app.file), "whole");
}

TEST_F(SqliteDataTest, removes_what_it_made_with_all_that_sqlite_keeps_beside_it) {
  ASSERT_TRUE(data().converge());
  auto own = open(spec_.app.file);
  add_note(own, "mine");
  ASSERT_TRUE(path_exists(spec_.app.file.string() + "-wal"));
  EXPECT_EQ(data().remove()->action, Action::removed);
  EXPECT_TRUE(std::filesystem::is_empty(spec_.app.file.parent_path()));
  EXPECT_EQ(data().remove()->action, Action::none);
}

TEST_F(SqliteDataTest, a_file_that_was_there_before_is_used_and_never_removed) {
  ASSERT_TRUE(ensure_directory(spec_.app.file.parent_path()));
  {
    auto own = open(spec_.app.file);
    add_note(own, "older than hedge");
  }
  ASSERT_TRUE(data().converge());
  EXPECT_EQ(notes(spec_.app.file), "older than hedge");
  ASSERT_TRUE(data().remove());
  EXPECT_EQ(notes(spec_.app.file), "older than hedge");
  EXPECT_FALSE(path_exists(spec_.test.file)) << "this one was ours";
}

TEST_F(SqliteDataTest, another_worktrees_claim_is_not_ours) {
  ASSERT_TRUE(data().converge());
  spec_.id = "01JDQ00000000000000000BETA";
  EXPECT_EQ(data().remove()->action, Action::none);
  EXPECT_TRUE(path_exists(spec_.app.file));
}

TEST_F(SqliteDataTest, a_file_that_took_the_place_of_ours_is_not_removed) {
  ASSERT_TRUE(data().converge());
  {
    auto theirs = open(directory_ / "wt/restored");
    add_note(theirs, "a backup that somebody put back");
  }
  std::filesystem::rename(directory_ / "wt/restored", spec_.app.file);
  EXPECT_EQ(data().remove()->action, Action::removed) << "the tests' database is ours";
  EXPECT_EQ(notes(spec_.app.file), "a backup that somebody put back");
  EXPECT_FALSE(path_exists(spec_.test.file));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "state")) << "no marker is left behind";
}

TEST_F(SqliteDataTest, a_copy_of_a_marked_file_is_not_ours) {
  ASSERT_TRUE(data().converge());
  std::filesystem::rename(spec_.app.file, directory_ / "wt/away");
  std::filesystem::copy_file(directory_ / "wt/away", spec_.app.file);
  ASSERT_TRUE(data().remove());
  EXPECT_TRUE(path_exists(spec_.app.file));
}

TEST_F(SqliteDataTest, what_was_written_to_it_leaves_it_ours) {
  ASSERT_TRUE(data().converge());
  {
    auto own = open(spec_.app.file);
    add_note(own, "mine");
    ASSERT_TRUE(own.execute("VACUUM"));
  }
  std::filesystem::rename(directory_ / "wt", directory_ / "moved");
  spec_.checkout = directory_ / "moved";
  spec_.app.file = directory_ / "moved/data/shop.sqlite3";
  spec_.test.file = directory_ / "moved/data/shop_test.sqlite3";
  EXPECT_EQ(data().remove()->action, Action::removed);
  EXPECT_FALSE(path_exists(spec_.app.file));
}

TEST_F(SqliteDataTest, a_marker_that_names_no_file_claims_none_and_goes) {
  ASSERT_TRUE(ensure_directory(spec_.app.file.parent_path()));
  {
    auto theirs = open(spec_.app.file);
    add_note(theirs, "not ours");
  }
  ASSERT_TRUE(ensure_directory(directory_ / "state"));
  ASSERT_TRUE(write_file_atomically(spec_.app.marker, spec_.id, 0600));
  EXPECT_EQ(data().remove()->action, Action::none);
  EXPECT_EQ(notes(spec_.app.file), "not ours");
  EXPECT_FALSE(path_exists(spec_.app.marker));
}

TEST_F(SqliteDataTest, forgetting_drops_the_markers_and_leaves_the_files) {
  ASSERT_TRUE(data().converge());
  ASSERT_TRUE(data().forget());
  EXPECT_TRUE(path_exists(spec_.app.file));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "state"));
}

TEST_F(SqliteDataTest, the_log_of_a_database_that_is_gone_is_not_replayed_into_the_new_one) {
  ASSERT_TRUE(ensure_directory(spec_.app.file.parent_path()));
  ASSERT_TRUE(write_file_atomically(spec_.app.file.string() + "-wal", "of another", 0600));
  ASSERT_TRUE(write_file_atomically(spec_.app.file.string() + "-journal", "of another", 0600));
  ASSERT_TRUE(data().converge());
  EXPECT_FALSE(path_exists(spec_.app.file.string() + "-wal"));
  EXPECT_FALSE(path_exists(spec_.app.file.string() + "-journal"));
}

TEST_F(SqliteDataTest, an_unfinished_copy_goes_too) {
  ASSERT_TRUE(ensure_directory(spec_.app.file.parent_path()));
  EXPECT_TRUE(is_leftover(unfinished())) << "the guard of destroy has to know it";
  ASSERT_TRUE(write_file_atomically(unfinished(), "half", 0600));
  ASSERT_TRUE(write_file_atomically(unfinished().string() + "-journal", "half", 0600));
  ASSERT_TRUE(data().remove());
  EXPECT_TRUE(std::filesystem::is_empty(spec_.app.file.parent_path()));
}

TEST_F(SqliteDataTest, D20_a_disk_without_room_for_the_copy_is_told_before_anything_is_written) {
  {
    auto main = open(spec_.app.source);
    add_note(main, "whole");
  }
  spec_.space = [](const std::filesystem::path&) { return std::optional<std::uint64_t>(100); };
  for (int run = 0; run < 2; ++run) {
    const auto change = data().converge();
    ASSERT_FALSE(change);
    EXPECT_EQ(change.error().id(), "disk_full");
    EXPECT_NE(change.error().text().find("needed"), std::string::npos);
    EXPECT_FALSE(path_exists(spec_.app.file));
    EXPECT_FALSE(path_exists(spec_.app.marker));
    EXPECT_FALSE(path_exists(unfinished()));
  }
}

TEST_F(SqliteDataTest, W23_a_link_that_leads_to_mains_database_is_refused) {
  auto main = open(spec_.app.source);
  add_note(main, "mains");
  std::filesystem::create_directory_symlink(directory_ / "main/data", directory_ / "wt/data");
  const auto finding = data().check();
  EXPECT_EQ(finding->presence, Presence::foreign);
  EXPECT_EQ(finding->problems.at(0).id(), "ownership_conflict");
  EXPECT_EQ(data().converge().error().id(), "ownership_conflict");
  EXPECT_EQ(notes(spec_.app.source), "mains");
}

TEST_F(SqliteDataTest, a_source_that_is_no_database_is_an_error_and_leaves_nothing) {
  ASSERT_TRUE(write_file_atomically(spec_.app.source, std::string(5000, 'x'), 0600));
  const auto change = data().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().kind(), ErrorKind::corrupt);
  EXPECT_FALSE(path_exists(spec_.app.file));
}

}  // namespace
}  // namespace hedge::worktree
