// Against a real PostgreSQL server, whose superuser URL is in HEDGE_TEST_POSTGRES_URL (tests/support/private_postgres.py).
#include "worktree/data/postgres.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>

#include "base/file.h"
#include "base/text.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string server_url() {
  const char* url = std::getenv("HEDGE_TEST_POSTGRES_URL");
  EXPECT_NE(url, nullptr) << "run by tests/support/private_postgres.py";
  return url == nullptr ? std::string() : url;
}

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    admin_ = connect("postgres");
    must("CREATE ROLE shop LOGIN PASSWORD 'shop'");
    must("CREATE DATABASE shop OWNER shop");
    main_ = connect("shop");
    ASSERT_TRUE(main_->execute("SET ROLE shop"));
    ASSERT_TRUE(main_->execute("CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL)"));
    ASSERT_TRUE(main_->execute("INSERT INTO notes (text) VALUES ('from main')"));
  }
  void TearDown() override {
    main_.reset();
    for (const PgRow& row : rows("SELECT datname FROM pg_database WHERE datname NOT IN ('postgres','template0','template1')")) {
      must("ALTER DATABASE " + quote_identifier(*row[0]) + " WITH IS_TEMPLATE false");
      must("DROP DATABASE " + quote_identifier(*row[0]) + " WITH (FORCE)");
    }
    for (const PgRow& row : rows("SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND rolname <> current_user")) {
      must("DROP ROLE " + quote_identifier(*row[0]));
    }
  }

  static std::optional<PgConnection> connect(const std::string& database, const std::string& user = {},
                                             const std::string& password = {}) {
    PgTarget target;
    target.url = server_url();
    target.database = database;
    target.user = user;
    target.password = password;
    auto connection = PgConnection::connect(target);
    EXPECT_TRUE(connection) << connection.error().to_string();
    return connection ? std::optional<PgConnection>(std::move(*connection)) : std::nullopt;
  }
  void must(const std::string& sql) {
    const auto done = admin_->execute(sql);
    ASSERT_TRUE(done) << sql << ": " << done.error().to_string();
  }
  std::vector<PgRow> rows(const std::string& sql) { return admin_->query(sql).value(); }
  static std::string value(PgConnection&& connection, const std::string& sql) { return value(connection, sql); }
  static std::string value(PgConnection& connection, const std::string& sql) {
    const auto answer = connection.query(sql);
    if (!answer) return answer.error().to_string();
    return answer->empty() ? "no row" : answer->front()[0].value_or("null");
  }
  std::string value(const std::string& sql) { return value(*admin_, sql); }

  PostgresSpec spec(const std::string& slug = "alpha") const {
    PostgresSpec out;
    out.id = "01JDQ-" + slug;
    out.role = "shop_" + slug;
    out.password = "secret-of-" + slug;
    out.database = "shop_" + slug;
    out.test_database = "shop_" + slug + "_test";
    out.golden.admin.url = server_url();
    out.golden.admin.database = "postgres";
    out.golden.source = "shop";
    out.golden.name = "shop_golden";
    out.golden.scratch = directory_ / "scratch";
    out.golden.environment = current_environment();
    return out;
  }
  PostgresData data(const std::string& slug = "alpha") { return {spec(slug), runner_}; }
  void make(const std::string& slug = "alpha") {
    const auto change = data(slug).converge();
    ASSERT_TRUE(change) << change.error().to_string();
  }
  std::optional<PgConnection> as_alpha() { return connect("shop_alpha", "shop_alpha", "secret-of-alpha"); }

  test::TemporaryDirectory directory_;
  SystemCommandRunner runner_;
  std::optional<PgConnection> admin_;
  std::optional<PgConnection> main_;
};

TEST_F(PostgresTest, a_worktree_gets_both_databases_with_mains_rows_and_a_role_that_owns_them) {
  EXPECT_EQ(data().check()->presence, Presence::missing);
  make();
  const auto finding = data().check();
  EXPECT_EQ(finding->presence, Presence::present);
  auto own = as_alpha();
  EXPECT_EQ(value(*own, "SELECT text FROM notes"), "from main");
  EXPECT_TRUE(own->execute("ALTER TABLE notes ADD COLUMN more text")) << "it owns what is in it";
  EXPECT_TRUE(own->execute("CREATE TABLE public.mine (id int)"));
  EXPECT_EQ(value("SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop_alpha_test'"), "shop_alpha");
  EXPECT_EQ(value("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'shop_alpha'"),
            "hedge:01JDQ-alpha");
}

TEST_F(PostgresTest, K11_a_second_run_changes_nothing_and_keeps_the_database_itself) {
  make();
  const std::string before = value("SELECT oid FROM pg_database WHERE datname = 'shop_alpha'");
  EXPECT_EQ(data().converge()->action, Action::none);
  EXPECT_EQ(value("SELECT oid FROM pg_database WHERE datname = 'shop_alpha'"), before);
}

TEST_F(PostgresTest, a_worktrees_role_reaches_neither_main_nor_a_sibling) {
  make();
  make("beta");
  for (const char* other : {"shop", "shop_beta", "shop_beta_test", "shop_golden"}) {
    if (std::string(other) == "shop") must("REVOKE CONNECT ON DATABASE shop FROM PUBLIC");
    PgTarget target = spec().golden.admin;
    target.database = other;
    target.user = "shop_alpha";
    target.password = "secret-of-alpha";
    EXPECT_FALSE(PgConnection::connect(target)) << other;
  }
}

TEST_F(PostgresTest, D01_neither_sessions_nor_new_connections_of_main_are_disturbed) {
  std::vector<PgConnection> sessions;
  for (int count = 0; count < 5; ++count) sessions.push_back(std::move(*connect("shop")));
  ASSERT_TRUE(sessions[0].execute("BEGIN"));
  ASSERT_TRUE(sessions[0].execute("INSERT INTO notes (text) VALUES ('not committed')"));
  const auto pids = [this] {
    return value("SELECT string_agg(pid::text, ',' ORDER BY pid) FROM pg_stat_activity WHERE datname = 'shop'");
  };
  const std::string before = pids();
  std::atomic<bool> done{false};
  auto reconnecting = std::async(std::launch::async, [&done] {
    int failures = 0;
    while (!done) {
      PgTarget target;
      target.url = server_url();
      target.database = "shop";
      target.connect_limit = 1000ms;
      if (!PgConnection::connect(target)) ++failures;
    }
    return failures;
  });
  const auto change = data().converge();
  done = true;
  EXPECT_EQ(reconnecting.get(), 0);
  EXPECT_TRUE(change);
  EXPECT_EQ(pids(), before);
  EXPECT_TRUE(sessions[0].execute("COMMIT"));
  EXPECT_EQ(value(*as_alpha(), "SELECT count(*) FROM notes"), "1");
}

TEST_F(PostgresTest, D01_several_worktrees_at_once_share_one_golden_copy) {
  std::vector<std::future<Result<Change>>> runs;
  for (const char* slug : {"one", "two", "three", "four"}) {
    runs.push_back(std::async(std::launch::async, [this, slug] { return data(slug).converge(); }));
  }
  for (auto& run : runs) {
    const auto change = run.get();
    EXPECT_TRUE(change) << change.error().to_string();
  }
  EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname LIKE 'shop\\_golden%'"), "1");
}

TEST_F(PostgresTest, nobody_can_connect_to_the_golden_copy) {
  make();
  EXPECT_EQ(value("SELECT datallowconn FROM pg_database WHERE datname = 'shop_golden'"), "f");
  EXPECT_EQ(value("SELECT rolcanlogin FROM pg_roles WHERE rolname = 'shop_golden'"), "f");
}

TEST_F(PostgresTest, a_refresh_brings_what_main_has_now_and_leaves_existing_worktrees_alone) {
  make();
  ASSERT_TRUE(main_->execute("INSERT INTO notes (text) VALUES ('newer')"));
  const auto refreshed = refresh_golden(spec().golden, runner_);
  ASSERT_TRUE(refreshed) << refreshed.error().to_string();
  make("beta");
  EXPECT_EQ(value(*connect("shop_beta"), "SELECT count(*) FROM notes"), "2");
  EXPECT_EQ(value(*connect("shop_alpha"), "SELECT count(*) FROM notes"), "1");
  EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname LIKE 'shop\\_golden%'"), "1") << "nothing is left of the refresh";
  const auto golden = fetch_golden(*admin_, spec().golden);
  EXPECT_EQ((*golden)->source, "shop");
  EXPECT_THAT((*golden)->made_at, HasSubstr("T"));
}

TEST_F(PostgresTest, a_refresh_that_fails_keeps_the_old_copy) {
  make();
  class NoRestore final : public CommandRunner {
   public:
    Result<CommandOutput> run(const CommandLine& command) override {
      if (command.argv.front() != "pg_restore") return run_command(command);
      return CommandOutput{1, "", "pg_restore: error: broken\n", false};
    }
  } runner;
  const auto refreshed = refresh_golden(spec().golden, runner);
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().id(), "golden_failed");
  EXPECT_TRUE(fetch_golden(*admin_, spec().golden)->has_value());
  EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname LIKE 'shop\\_golden\\_%'"), "0");
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "scratch")) << "no dump is left behind";
}

TEST_F(PostgresTest, no_password_is_in_an_argument_list) {
  class Watcher final : public CommandRunner {
   public:
    Result<CommandOutput> run(const CommandLine& command) override {
      for (const std::string& argument : command.argv) arguments.push_back(argument);
      return run_command(command);
    }
    std::vector<std::string> arguments;
  } runner;
  ASSERT_TRUE(refresh_golden(spec().golden, runner));
  const std::string url = server_url();
  const std::string password = url.substr(url.find(':', url.find("//")) + 1, 32);
  ASSERT_GT(runner.arguments.size(), 10U);
  for (const std::string& argument : runner.arguments) EXPECT_THAT(argument, ::testing::Not(HasSubstr(password)));
}

TEST_F(PostgresTest, missing_programs_and_a_missing_source_have_ids_of_their_own) {
  GoldenSpec without_tools = spec().golden;
  without_tools.environment["PATH"] = "/nonexistent";
  EXPECT_EQ(refresh_golden(without_tools, runner_).error().id(), "pg_tools_missing");
  GoldenSpec without_source = spec().golden;
  without_source.source = "no_such_database";
  EXPECT_EQ(refresh_golden(without_source, runner_).error().id(), "golden_source_missing");
}

TEST_F(PostgresTest, D10_owner_settings_and_grants_are_applied_again) {
  must("CREATE ROLE reader");
  must("ALTER DATABASE shop SET search_path = app, \"$user\", public");
  must("ALTER DATABASE shop SET shop.greeting = 'it''s \"quoted\"'");
  must("ALTER ROLE shop IN DATABASE shop SET statement_timeout = '5s'");
  must("ALTER ROLE reader IN DATABASE shop SET work_mem = '8MB'");
  must("GRANT CONNECT ON DATABASE shop TO reader");
  make();
  const auto settings = [this](const std::string& database, const std::string& role) {
    return value("SELECT COALESCE(string_agg(c, ' ' ORDER BY c), 'none') FROM pg_db_role_setting s, unnest(setconfig) c WHERE "
                 "setdatabase = (SELECT oid FROM pg_database WHERE datname = '" + database + "') AND setrole = " + role);
  };
  EXPECT_EQ(settings("shop_alpha", "0"), settings("shop", "0"));
  EXPECT_EQ(settings("shop_alpha", "'shop_alpha'::regrole"), "statement_timeout=5s");
  EXPECT_EQ(settings("shop_alpha", "'reader'::regrole"), "work_mem=8MB");
  EXPECT_EQ(value("SELECT has_database_privilege('reader', 'shop_alpha', 'CONNECT')"), "t");
  EXPECT_EQ(value("SELECT has_database_privilege('shop', 'shop_alpha', 'CONNECT')"), "f") << "PUBLIC and main may not";
  EXPECT_EQ(value(*as_alpha(), "SHOW search_path"), "app, \"$user\", public");
}

TEST_F(PostgresTest, extensions_and_schemas_come_along) {
  auto inside = connect("shop");
  if (!inside->execute("CREATE SCHEMA tools; ")) FAIL();
  const auto made = inside->execute("CREATE EXTENSION pg_trgm SCHEMA tools");
  ASSERT_TRUE(made) << made.error().to_string();
  ASSERT_TRUE(inside->execute("SET ROLE shop"));
  ASSERT_TRUE(inside->execute("CREATE VIEW loud AS SELECT upper(text) AS text FROM notes"));
  make();
  EXPECT_EQ(value(*as_alpha(), "SELECT text FROM loud"), "FROM MAIN");
  EXPECT_EQ(value(*as_alpha(), "SELECT nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace "
                               "WHERE extname = 'pg_trgm'"), "tools");
}

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
  const int available = parse_number<int>(value("SELECT current_setting('max_connections')::int - "
                                                "current_setting('superuser_reserved_connections')::int - "
                                                "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')"))
                            .value();
  std::vector<PgConnection> beta;
  for (int count = 0; count < available; ++count) beta.push_back(std::move(*connect("shop_beta", "shop_beta", "secret-of-beta")));
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

}  // namespace
}  // namespace hedge::worktree
