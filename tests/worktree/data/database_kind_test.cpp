#include "worktree/data/database_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "config/project_config.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSqlite = R"(
[app]
name = "shop"
[database]
engine = "sqlite"
source = "data/shop.sqlite3"
)";

constexpr const char* kPostgres = R"(
[app]
name = "shop"
[database]
engine = "postgres"
admin_url = "postgresql://admin@db.internal:5433/postgres"
source = "shop"
)";

class DatabaseKindTest : public ::testing::Test {
 protected:
  DatabaseKindTest() {
    record_.id = "01JDQ0000000000000000ALPHA";
    record_.slug = "login-fix";
    record_.path = directory_ / "wt";
    record_.main_checkout = directory_ / "main";
    record_.secret = "0123";
    paths_.state = directory_ / "state";
  }
  void configure(const std::string& text) {
    auto config = config::parse_project_config(text);
    ASSERT_TRUE(config) << config.error().to_string();
    config_ = std::move(*config);
  }
  PlanInput input() const { return {record_, names_, config_, paths_, observed_}; }
  DatabaseKind kind() { return {environment_, paths_, runner_}; }
  Values values() {
    Values out;
    kind().publish(input(), out);
    return out;
  }
  std::string outline(const char* name) { return values().at(name).outline(); }
  std::vector<ResourceSpec> plan() { return kind().plan(input(), {}).value(); }

  test::TemporaryDirectory directory_;
  SystemCommandRunner runner_;
  Environment environment_;
  config::Paths paths_;
  WorktreeRecord record_;
  WorktreeNames names_ = derive_names("shop", "login-fix");
  config::ProjectConfig config_;
  Observed observed_;
};

TEST_F(DatabaseKindTest, sqlite_files_lie_in_the_worktree_where_main_has_its_own) {
  configure(kSqlite);
  EXPECT_EQ(values().at("database.url").outline(), "sqlite://" + (directory_ / "wt/data/shop.sqlite3").string());
  EXPECT_EQ(values().at("database.test_url").outline(),
            "sqlite://" + (directory_ / "wt/data/shop_test.sqlite3").string());
  const auto made = kind().make(plan().at(0), record_);
  ASSERT_TRUE(made) << made.error().to_string();
  ASSERT_TRUE((*made)->converge());
  EXPECT_TRUE(path_exists(directory_ / "wt/data/shop.sqlite3"));
  EXPECT_TRUE(path_exists(directory_ / "wt/data/shop_test.sqlite3"));
}

TEST_F(DatabaseKindTest, a_moved_worktree_takes_its_files_along) {
  configure(kSqlite);
  const auto step = plan().at(0);
  ASSERT_TRUE((*kind().make(step, record_))->converge());
  std::filesystem::rename(directory_ / "wt", directory_ / "moved");
  record_.path = directory_ / "moved";
  EXPECT_EQ((*kind().make(step, record_))->check()->presence, Presence::present);
  EXPECT_EQ((*kind().make(step, record_))->remove()->action, Action::removed);
  EXPECT_FALSE(path_exists(directory_ / "moved/data/shop.sqlite3"));
}

TEST_F(DatabaseKindTest,
       an_applications_url_names_its_own_role_and_leaves_the_password_to_the_moment_of_use) {
  configure(kPostgres);
  EXPECT_EQ(values().at("database.url").outline(),
            "postgresql://shop_login_fix:{secret.postgres}@db.internal:5433/shop_login_fix");
  EXPECT_EQ(values().at("database.test_url").outline(),
            "postgresql://shop_login_fix:{secret.postgres}@db.internal:5433/shop_login_fix_test");
  EXPECT_EQ(values().at("database.name"), "shop_login_fix");
}

TEST_F(DatabaseKindTest, the_application_may_see_the_server_at_another_address) {
  configure(std::string(kPostgres) + "app_address = \"postgres:5432\"\n");
  EXPECT_THAT(values().at("database.url").outline(), HasSubstr("@postgres:5432/"));
}

TEST_F(DatabaseKindTest, the_administrators_variable_outranks_the_file_and_never_shows) {
  configure(kPostgres);
  environment_["HEDGE_POSTGRES_ADMIN_URL"] = "postgresql://root:topsecret@127.0.0.1:6000/";
  EXPECT_THAT(values().at("database.url").outline(), HasSubstr("@127.0.0.1:6000/shop_login_fix"));
  for (const auto& [name, value] : values()) EXPECT_THAT(value.outline(), Not(HasSubstr("topsecret"))) << name;
  EXPECT_THAT(plan().at(0).parameters, Not(HasSubstr("topsecret")));
  EXPECT_THAT(plan().at(0).parameters, Not(HasSubstr(derive_secret(record_, "postgres"))));
}

TEST_F(DatabaseKindTest, a_server_on_a_local_socket_gets_a_url_that_says_so) {
  configure(kPostgres);
  environment_["HEDGE_POSTGRES_ADMIN_URL"] = "postgresql:///postgres?host=/run/postgresql";
  EXPECT_EQ(values().at("database.url").outline(),
            "postgresql://shop_login_fix:{secret.postgres}@/shop_login_fix?host=/run/postgresql");
}

TEST_F(DatabaseKindTest, a_directory_with_any_name_is_one_path_of_the_url) {
  configure(kSqlite);
  record_.path = directory_ / "c#1 50%41? \xc3\xa4/it's:a+b@wt";
  EXPECT_EQ(outline("database.url"), "sqlite://" + directory_.path().string() +
                                         "/c%231%2050%2541%3F%20%C3%A4/it's:a+b@wt/data/shop.sqlite3");
}

TEST_F(DatabaseKindTest, names_and_socket_directories_of_a_server_are_encoded) {
  configure(kPostgres);
  record_.kind = WorktreeKind::main;
  environment_["HEDGE_POSTGRES_ADMIN_URL"] = "postgresql:///postgres?user=a%3Ab%40c%2Fd&host=/run/pg%26x%3D1%23";
  EXPECT_EQ(outline("database.url"), "postgresql://a%3Ab%40c%2Fd@/shop?host=/run/pg%26x%3D1%23");
  environment_["HEDGE_POSTGRES_ADMIN_URL"] = "postgresql://me@[::1]:6000/postgres";
  EXPECT_EQ(outline("database.url"), "postgresql://me@[::1]:6000/shop");
  const PgAddress read_back = address_of(outline("database.url"));
  EXPECT_EQ(read_back.host, "::1");
  EXPECT_EQ(read_back.user, "me");
}

TEST_F(DatabaseKindTest, main_keeps_its_own_databases) {
  configure(kPostgres);
  record_.kind = WorktreeKind::main;
  EXPECT_TRUE(plan().empty());
  EXPECT_EQ(values().at("database.url").outline(), "postgresql://admin@db.internal:5433/shop");
  EXPECT_EQ(values().at("database.test_name"), "shop_test");
}

TEST_F(DatabaseKindTest, the_url_that_an_earlier_run_kept_serves_a_later_one) {
  configure(kPostgres);
  ASSERT_TRUE(ensure_directory(paths_.state / "databases"));
  ASSERT_TRUE(write_file_atomically(paths_.state / "databases" / (record_.id + ".url"),
                                    "postgresql://kept@127.0.0.1:1/", 0600));
  const auto finding = (*kind().make(plan().at(0), record_))->check();
  EXPECT_EQ(finding->presence, Presence::unknown);
  EXPECT_THAT(finding->problems.at(0).text(), HasSubstr("port 1 "));
}

TEST_F(DatabaseKindTest, a_corrected_url_of_the_same_server_counts_and_one_of_another_server_does_not) {
  configure(replace_all(kPostgres, "admin@db.internal:5433", "corrected@127.0.0.1:1"));
  ASSERT_TRUE(ensure_directory(paths_.state / "databases"));
  const auto keep = [this](const std::string& url) {
    ASSERT_TRUE(write_file_atomically(paths_.state / "databases" / (record_.id + ".url"), url, 0600));
  };
  const auto asked = [this] { return (*kind().make(plan().at(0), record_))->check()->problems.at(0).text(); };
  keep("postgresql://former@localhost:1/");
  EXPECT_THAT(asked(), HasSubstr("\"127.0.0.1\", port 1 "));
  keep("postgresql://former@127.0.0.1:2/");
  EXPECT_THAT(asked(), HasSubstr("port 2 "));
}

TEST_F(DatabaseKindTest, a_url_that_was_corrected_since_the_ledgers_entry_was_written_counts) {
  configure(replace_all(kPostgres, "admin@db.internal:5433", "former@localhost:1"));
  const auto recorded = plan().at(0);
  ASSERT_TRUE(ensure_directory(paths_.state / "databases"));
  ASSERT_TRUE(write_file_atomically(paths_.state / "databases" / (record_.id + ".url"), "postgresql://former@localhost:1/", 0600));
  const auto asked = [&] { return (*kind().make(recorded, record_))->remove().error().text(); };
  EXPECT_THAT(asked(), HasSubstr("\"localhost\""));
  for (const std::filesystem::path& checkout : {record_.main_checkout, record_.path}) {
    ASSERT_TRUE(ensure_directory(checkout));
    ASSERT_TRUE(write_file_atomically(checkout / "hedge.toml", replace_all(kPostgres, "admin@db.internal:5433", "corrected@127.0.0.1:1"), 0644));
    EXPECT_THAT(asked(), HasSubstr("\"127.0.0.1\"")) << checkout;
    ASSERT_TRUE(write_file_atomically(checkout / "hedge.toml", replace_all(kPostgres, "db.internal:5433", "127.0.0.1:2"), 0644));
    EXPECT_THAT(asked(), HasSubstr("\"localhost\"")) << "another server has nothing of the worktree";
  }
}

TEST_F(DatabaseKindTest, a_database_of_another_engine_is_another_thing) {
  configure(kSqlite);
  const auto file = plan().at(0);
  configure(kPostgres);
  EXPECT_FALSE(kind().is_same_thing(file, plan().at(0)));
  EXPECT_TRUE(kind().is_same_thing(plan().at(0), plan().at(0)));
}

TEST_F(DatabaseKindTest, databases_are_looked_for_and_removed_where_they_were_made) {
  configure(kPostgres);
  ASSERT_TRUE(ensure_directory(paths_.state / "databases"));
  ASSERT_TRUE(write_file_atomically(paths_.state / "databases" / (record_.id + ".url"),
                                    "postgresql://kept@localhost:1/", 0600));
  environment_["HEDGE_POSTGRES_ADMIN_URL"] = "postgresql://root@127.0.0.1:2/";
  const auto database = std::move(kind().make(plan().at(0), record_).value());
  const auto finding = database->check();
  EXPECT_EQ(finding->presence, Presence::foreign);
  EXPECT_EQ(finding->problems.at(0).id(), "database_server_changed");
  EXPECT_THAT(finding->problems.at(0).text(), HasSubstr("localhost:2"));
  const auto removed = database->remove();
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().text(), HasSubstr("port 1 "));
  environment_["HEDGE_POSTGRES_ADMIN_URL"] = "postgresql://root:newer@127.0.0.1:1/";
  EXPECT_EQ((*kind().make(plan().at(0), record_))->check()->presence, Presence::unknown) << "the same server";
}

TEST_F(DatabaseKindTest, a_ledger_entry_that_cannot_be_understood_is_corrupt_and_no_crash) {
  for (const char* parameters : {"", "{}", R"({"engine":"sqlite"})", R"({"engine":"postgres","role":3})"}) {
    const auto made = kind().make({"database", "x", parameters}, record_);
    ASSERT_FALSE(made) << parameters;
    EXPECT_EQ(made.error().id(), "state_unreadable") << parameters;
  }
}

}  // namespace
}  // namespace hedge::worktree
