// Against a real PostgreSQL server: tests/support/private_postgres.py starts it.
#include <gmock/gmock.h>

#include "tests/worktree/data/postgres_world.h"

namespace hedge::worktree::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PostgresTest : public PostgresWorld {
 protected:
  // The server's URL for another role.
  static std::string url_of(const std::string& role, const std::string& password) {
    const std::string url = server_url();
    return "postgresql://" + role + ":" + password + url.substr(url.find('@'));
  }
};

TEST_F(PostgresTest, W13_a_database_with_another_owners_tag_is_neither_used_nor_dropped) {
  must("CREATE DATABASE shop_alpha");
  must("COMMENT ON DATABASE shop_alpha IS 'hedge:01JDQ-somebody-else'");
  EXPECT_EQ(data().check()->presence, Presence::foreign);
  EXPECT_EQ(data().converge().error().id(), "ownership_conflict");
  EXPECT_EQ(data().remove().error().id(), "ownership_conflict");
  EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname = 'shop_alpha'"), "1");
  EXPECT_EQ(value("SELECT count(*) FROM pg_roles WHERE rolname = 'shop_alpha'"), "0");
}

TEST_F(PostgresTest, W13_a_database_without_a_tag_that_is_not_our_roles_is_foreign_too) {
  must("CREATE DATABASE shop_alpha_test OWNER shop");
  EXPECT_EQ(data().check()->presence, Presence::foreign);
  EXPECT_EQ(data().converge().error().id(), "ownership_conflict");
  EXPECT_EQ(data().remove().error().id(), "ownership_conflict");
  EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname = 'shop_alpha_test'"), "1");
}

TEST_F(PostgresTest, a_role_of_our_name_that_is_not_ours_protects_what_it_owns) {
  must("CREATE ROLE shop_alpha LOGIN");
  must("CREATE DATABASE shop_alpha OWNER shop_alpha");
  EXPECT_EQ(data().check()->presence, Presence::foreign);
  EXPECT_EQ(data().converge().error().id(), "ownership_conflict");
  EXPECT_EQ(data().remove().error().id(), "ownership_conflict");
  EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname = 'shop_alpha'"), "1");
}

TEST_F(PostgresTest, W19_a_half_made_database_is_finished_with_what_is_in_it) {
  make();
  must("COMMENT ON DATABASE shop_alpha IS NULL");
  must("GRANT CONNECT ON DATABASE shop_alpha TO PUBLIC");
  ASSERT_TRUE(as_alpha()->execute("INSERT INTO notes (text) VALUES ('kept')"));
  EXPECT_EQ(data().check()->presence, Presence::differs);
  make();
  EXPECT_EQ(data().check()->presence, Presence::present);
  EXPECT_EQ(value(*as_alpha(), "SELECT count(*) FROM notes"), "2");
}

TEST_F(PostgresTest, W19_a_run_that_was_killed_after_the_role_converges) {
  make();
  must("DROP DATABASE shop_alpha");
  must("DROP DATABASE shop_alpha_test");
  EXPECT_EQ(data().check()->presence, Presence::differs);
  make();
  EXPECT_EQ(data().check()->presence, Presence::present);
}

TEST_F(PostgresTest, a_lost_password_is_set_again) {
  make();
  must("ALTER ROLE shop_alpha PASSWORD 'another'");
  const auto finding = data().check();
  EXPECT_EQ(finding->presence, Presence::differs);
  EXPECT_EQ(finding->problems.at(0).id(), "database_access_denied");
  EXPECT_EQ(data().converge()->action, Action::updated);
  EXPECT_EQ(data().check()->presence, Presence::present);
}

TEST_F(PostgresTest, remove_drops_both_databases_and_the_role_under_living_sessions_and_nothing_else) {
  make();
  make("beta");
  auto session = as_alpha();
  EXPECT_EQ(data().remove()->action, Action::removed);
  EXPECT_THAT(rows("SELECT 1 FROM pg_database WHERE datname LIKE 'shop\\_alpha%'"), IsEmpty());
  EXPECT_THAT(rows("SELECT 1 FROM pg_roles WHERE rolname = 'shop_alpha'"), IsEmpty());
  EXPECT_EQ(data("beta").check()->presence, Presence::present);
  EXPECT_EQ(data().remove()->action, Action::none);
}

TEST_F(PostgresTest, the_administrators_url_is_kept_for_the_removal_and_goes_with_it) {
  PostgresSpec kept = spec();
  kept.kept_url = directory_ / "state/alpha.url";
  ASSERT_TRUE(PostgresData(kept, runner_).converge());
  EXPECT_EQ(read_file(kept.kept_url).value(), server_url());
  EXPECT_EQ(std::filesystem::status(kept.kept_url).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ASSERT_TRUE(PostgresData(kept, runner_).remove());
  EXPECT_FALSE(path_exists(kept.kept_url));
}

TEST_F(PostgresTest, a_corrected_administrator_counts_though_a_former_one_is_kept) {
  must("CREATE ROLE chief LOGIN SUPERUSER PASSWORD 'chief'");
  PostgresSpec kept = spec();
  kept.kept_url = directory_ / "state/alpha.url";
  kept.golden.admin.url = url_of("chief", "chief");
  ASSERT_TRUE(PostgresData(kept, runner_).converge());
  must("ALTER ROLE chief RENAME TO boss");
  kept.former_url = read_file(kept.kept_url).value();
  kept.other_urls = {kept.former_url};
  EXPECT_EQ(PostgresData(kept, runner_).check()->problems.at(0).id(), "database_access_denied");
  kept.golden.admin.url = server_url();
  EXPECT_EQ(PostgresData(kept, runner_).check()->presence, Presence::present);
  EXPECT_EQ(PostgresData(kept, runner_).remove()->action, Action::removed);
}

TEST_F(PostgresTest, the_kept_url_serves_where_the_configured_one_says_less) {
  PostgresSpec kept = spec();
  kept.kept_url = directory_ / "state/alpha.url";
  ASSERT_TRUE(PostgresData(kept, runner_).converge());
  kept.former_url = server_url();
  kept.other_urls = {url_of("nobody", ""), kept.former_url};
  kept.golden.admin.url = url_of("nobody", "");
  EXPECT_EQ(PostgresData(kept, runner_).check()->presence, Presence::present);
  must("DROP DATABASE shop_alpha_test");
  ASSERT_TRUE(PostgresData(kept, runner_).converge());
  EXPECT_EQ(read_file(kept.kept_url).value(), server_url());
  EXPECT_EQ(PostgresData(kept, runner_).remove()->action, Action::removed);
}

TEST_F(PostgresTest, a_rotated_password_is_kept_once_it_has_been_used) {
  must("CREATE ROLE chief LOGIN SUPERUSER PASSWORD 'chief'");
  PostgresSpec kept = spec();
  kept.kept_url = directory_ / "state/alpha.url";
  kept.golden.admin.url = url_of("chief", "chief");
  ASSERT_TRUE(PostgresData(kept, runner_).converge());
  must("ALTER ROLE chief PASSWORD 'rotated'");
  must("DROP DATABASE shop_alpha_test");
  kept.former_url = read_file(kept.kept_url).value();
  kept.other_urls = {kept.former_url};
  kept.golden.admin.url = url_of("chief", "rotated");
  ASSERT_TRUE(PostgresData(kept, runner_).converge());
  EXPECT_EQ(read_file(kept.kept_url).value(), url_of("chief", "rotated"));
  // From another shell, which has no administrator's variable.
  kept.former_url = kept.golden.admin.url = read_file(kept.kept_url).value();
  EXPECT_EQ(PostgresData(kept, runner_).remove()->action, Action::removed);
}

TEST_F(PostgresTest, D02_a_name_that_the_server_would_cut_is_refused) {
  PostgresSpec long_name = spec();
  long_name.database = "shop_" + std::string(59, 'a');
  ASSERT_EQ(long_name.database.size(), 64U);
  EXPECT_EQ(PostgresData(long_name, runner_).converge().error().kind(), ErrorKind::invalid_input);
  EXPECT_THAT(rows("SELECT 1 FROM pg_database WHERE datname LIKE 'shop\\_aaa%'"), IsEmpty());
}

TEST_F(PostgresTest, names_with_quotes_and_semicolons_stay_names) {
  PostgresSpec odd = spec();
  odd.role = "sh\"op'; DROP ROLE shop; --";
  odd.database = "da\"ta\\';--";
  odd.test_database = "te st";
  odd.id = "o'dd\\";
  const auto change = PostgresData(odd, runner_).converge();
  ASSERT_TRUE(change) << change.error().to_string();
  EXPECT_EQ(PostgresData(odd, runner_).check()->presence, Presence::present);
  EXPECT_EQ(value("SELECT count(*) FROM pg_roles WHERE rolname = 'shop'"), "1");
  EXPECT_EQ(PostgresData(odd, runner_).remove()->action, Action::removed);
}

TEST_F(PostgresTest, D09_a_full_server_is_told_with_who_fills_it) {
  make();
  make("beta");
  must("ALTER SYSTEM RESET ALL");
  const int available =
      parse_number<int>(
          value("SELECT current_setting('max_connections')::int - "
                "current_setting('superuser_reserved_connections')::int - "
                "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')"))
          .value();
  std::vector<PgConnection> beta;
  for (int count = 0; count < available; ++count)
    beta.push_back(std::move(*connect("shop_beta", "shop_beta", "secret-of-beta")));
  const auto finding = data().check();
  ASSERT_EQ(finding->presence, Presence::differs);
  EXPECT_EQ(finding->problems.at(0).id(), "pg_connections_exhausted");
  EXPECT_THAT(finding->problems.at(0).text(), HasSubstr("shop_beta " + std::to_string(available)));
}

TEST_F(PostgresTest, a_server_that_is_down_is_unknown_and_a_debt) {
  PostgresSpec down = spec();
  down.golden.admin.url = "postgresql://admin@127.0.0.1:1/postgres";
  const auto finding = PostgresData(down, runner_).check();
  EXPECT_EQ(finding->presence, Presence::unknown);
  EXPECT_EQ(finding->problems.at(0).id(), "database_unreachable");
  EXPECT_EQ(PostgresData(down, runner_).remove().error().kind(), ErrorKind::unavailable);
}

TEST_F(PostgresTest, a_wrong_administrators_password_is_access_denied) {
  PostgresSpec wrong = spec();
  wrong.golden.admin.password = "not this one";
  EXPECT_EQ(PostgresData(wrong, runner_).check()->problems.at(0).id(), "database_access_denied");
  PostgresSpec without = spec();
  without.golden.admin.url = url_of("nobody", "");
  EXPECT_EQ(PostgresData(without, runner_).check()->problems.at(0).id(), "database_access_denied");
}

TEST_F(PostgresTest, a_statement_that_takes_too_long_is_cancelled) {
  const auto slow = admin_->query("SELECT pg_sleep(60)", {}, 200ms);
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().kind(), ErrorKind::timed_out);
}

TEST_F(PostgresTest, an_administrator_who_is_no_superuser_is_enough) {
  must("CREATE ROLE manager LOGIN CREATEDB CREATEROLE PASSWORD 'manager'");
  must("GRANT shop TO manager");
  PostgresSpec managed = spec();
  managed.golden.admin.user = "manager";
  managed.golden.admin.password = "manager";
  const auto change = PostgresData(managed, runner_).converge();
  ASSERT_TRUE(change) << change.error().to_string();
  EXPECT_EQ(PostgresData(managed, runner_).check()->presence, Presence::present);
  EXPECT_EQ(value(*as_alpha(), "SELECT text FROM notes"), "from main");
  EXPECT_EQ(PostgresData(managed, runner_).remove()->action, Action::removed);
}

TEST_F(PostgresTest, D20_a_server_without_room_for_the_golden_copy_is_told_before_it_is_made) {
  PostgresSpec small = spec();
  small.golden.space = [](const std::filesystem::path&) { return std::optional<std::uint64_t>(1'000'000); };
  for (int run = 0; run < 2; ++run) {
    const auto change = PostgresData(small, runner_).converge();
    ASSERT_FALSE(change);
    EXPECT_EQ(change.error().id(), "disk_full") << change.error().to_string();
    EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname LIKE 'shop_%'"), "0");
    EXPECT_EQ(value("SELECT count(*) FROM pg_roles WHERE rolname = 'shop_alpha'"), "0");
  }
}

TEST_F(PostgresTest, D20_a_server_without_room_for_the_clone_is_told_before_it_is_made) {
  make("beta");
  PostgresSpec small = spec();
  small.golden.space = [](const std::filesystem::path&) { return std::optional<std::uint64_t>(1'000'000); };
  const auto change = PostgresData(small, runner_).converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "disk_full") << change.error().to_string();
  EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname LIKE 'shop_alpha%'"), "0");
}

}  // namespace
}  // namespace hedge::worktree::test
