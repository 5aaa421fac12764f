// Against a real PostgreSQL server: tests/support/private_postgres.py starts it.
#include <atomic>
#include <future>

#include <gmock/gmock.h>

#include "tests/worktree/data/postgres_world.h"

namespace hedge::worktree::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class GoldenTest : public PostgresWorld {};

TEST_F(GoldenTest, a_worktree_gets_both_databases_with_mains_rows_and_a_role_that_owns_them) {
  EXPECT_EQ(data().check()->presence, Presence::missing);
  make();
  const auto finding = data().check();
  EXPECT_EQ(finding->presence, Presence::present);
  auto own = as_alpha();
  EXPECT_EQ(value(*own, "SELECT text FROM notes"), "from main");
  EXPECT_TRUE(own->execute("ALTER TABLE notes ADD COLUMN more text")) << "it owns what is in it";
  EXPECT_TRUE(own->execute("CREATE TABLE public.mine (id int)"));
  EXPECT_EQ(value("SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop_alpha_test'"),
            "shop_alpha");
  EXPECT_EQ(
      value("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'shop_alpha'"),
      "hedge:01JDQ-alpha");
}

TEST_F(GoldenTest, K11_a_second_run_changes_nothing_and_keeps_the_database_itself) {
  make();
  const std::string before = value("SELECT oid FROM pg_database WHERE datname = 'shop_alpha'");
  EXPECT_EQ(data().converge()->action, Action::none);
  EXPECT_EQ(value("SELECT oid FROM pg_database WHERE datname = 'shop_alpha'"), before);
}

TEST_F(GoldenTest, a_worktrees_role_reaches_neither_main_nor_a_sibling) {
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

TEST_F(GoldenTest, D01_neither_sessions_nor_new_connections_of_main_are_disturbed) {
  std::vector<PgConnection> sessions;
  for (int count = 0; count < 5; ++count) sessions.push_back(std::move(*connect("shop")));
  ASSERT_TRUE(sessions[0].execute("BEGIN"));
  ASSERT_TRUE(sessions[0].execute("INSERT INTO notes (text) VALUES ('not committed')"));
  std::string pids = "0";
  for (PgConnection& session : sessions) pids += "," + value(session, "SELECT pg_backend_pid()");
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
  EXPECT_EQ(value("SELECT count(*) FROM pg_stat_activity WHERE pid IN (" + pids + ")"), "5");
  EXPECT_TRUE(sessions[0].execute("COMMIT"));
  EXPECT_EQ(value(*as_alpha(), "SELECT count(*) FROM notes"), "1");
}

TEST_F(GoldenTest, D01_several_worktrees_at_once_share_one_golden_copy) {
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

TEST_F(GoldenTest, nobody_can_connect_to_the_golden_copy) {
  make();
  EXPECT_EQ(value("SELECT datallowconn FROM pg_database WHERE datname = 'shop_golden'"), "f");
  EXPECT_EQ(value("SELECT rolcanlogin FROM pg_roles WHERE rolname = 'shop_golden'"), "f");
}

TEST_F(GoldenTest, a_refresh_brings_what_main_has_now_and_leaves_existing_worktrees_alone) {
  make();
  ASSERT_TRUE(main_->execute("INSERT INTO notes (text) VALUES ('newer')"));
  const auto refreshed = refresh_golden(spec().golden, runner_);
  ASSERT_TRUE(refreshed) << refreshed.error().to_string();
  make("beta");
  EXPECT_EQ(value(*connect("shop_beta"), "SELECT count(*) FROM notes"), "2");
  EXPECT_EQ(value(*connect("shop_alpha"), "SELECT count(*) FROM notes"), "1");
  EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname LIKE 'shop\\_golden%'"), "1")
      << "nothing is left of the refresh";
  const auto golden = fetch_golden(*admin_, spec().golden);
  EXPECT_EQ((*golden)->source, "shop");
  EXPECT_THAT((*golden)->made_at, HasSubstr("T"));
}

TEST_F(GoldenTest, a_copy_of_another_source_is_never_cloned) {
  make();
  must("CREATE DATABASE shop2 OWNER shop");
  auto other = connect("shop2");
  ASSERT_TRUE(other->execute("CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL)"));
  ASSERT_TRUE(other->execute("INSERT INTO notes (text) VALUES ('from the new source')"));
  PostgresSpec beta = spec("beta");
  beta.golden.source = "shop2";
  const auto change = PostgresData(beta, runner_).converge();
  ASSERT_TRUE(change) << change.error().to_string();
  EXPECT_EQ(value(*connect("shop_beta"), "SELECT text FROM notes"), "from the new source");
  EXPECT_THAT(change->detail, HasSubstr("of shop2 of"));
  make("gamma");
  EXPECT_EQ(value(*connect("shop_gamma"), "SELECT text FROM notes"), "from main") << "and back again";
}

TEST_F(GoldenTest, a_template_that_became_anothers_meanwhile_leaves_no_database) {
  make();
  ClonePlan plan;
  plan.name = "shop_beta";
  plan.owner = "shop_alpha";
  plan.tag = "hedge:beta";
  plan.golden = "shop_golden";
  plan.golden_mark = "hedge:golden from=shop2 at=";
  PgTarget target;
  target.url = server_url();
  target.database = "postgres";
  const auto made = ensure_database(*admin_, target, plan);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id(), "busy");
  EXPECT_EQ(value("SELECT count(*) FROM pg_database WHERE datname = 'shop_beta'"), "0");
}

TEST_F(GoldenTest, a_refresh_that_fails_keeps_the_old_copy) {
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

TEST_F(GoldenTest, no_password_is_in_an_argument_list) {
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
  for (const std::string& argument : runner.arguments)
    EXPECT_THAT(argument, ::testing::Not(HasSubstr(password)));
}

TEST_F(GoldenTest, missing_programs_and_a_missing_source_have_ids_of_their_own) {
  GoldenSpec without_tools = spec().golden;
  without_tools.environment["PATH"] = "/nonexistent";
  EXPECT_EQ(refresh_golden(without_tools, runner_).error().id(), "pg_tools_missing");
  GoldenSpec without_source = spec().golden;
  without_source.source = "no_such_database";
  EXPECT_EQ(refresh_golden(without_source, runner_).error().id(), "golden_source_missing");
}

TEST_F(GoldenTest, D10_owner_settings_and_grants_are_applied_again) {
  must("CREATE ROLE reader");
  must("ALTER DATABASE shop SET search_path = app, \"$user\", public");
  must("ALTER DATABASE shop SET shop.greeting = 'it''s \"quoted\"'");
  must("ALTER ROLE shop IN DATABASE shop SET statement_timeout = '5s'");
  must("ALTER ROLE reader IN DATABASE shop SET work_mem = '8MB'");
  must("GRANT CONNECT ON DATABASE shop TO reader");
  make();
  const auto settings = [this](const std::string& database, const std::string& role) {
    return value(
        "SELECT COALESCE(string_agg(c, ' ' ORDER BY c), 'none') FROM pg_db_role_setting s, unnest(setconfig) "
        "c WHERE "
        "setdatabase = (SELECT oid FROM pg_database WHERE datname = '" +
        database + "') AND setrole = " + role);
  };
  EXPECT_EQ(settings("shop_alpha", "0"), settings("shop", "0"));
  EXPECT_EQ(settings("shop_alpha", "'shop_alpha'::regrole"), "statement_timeout=5s");
  EXPECT_EQ(settings("shop_alpha", "'reader'::regrole"), "work_mem=8MB");
  EXPECT_EQ(value("SELECT has_database_privilege('reader', 'shop_alpha', 'CONNECT')"), "t");
  EXPECT_EQ(value("SELECT has_database_privilege('shop', 'shop_alpha', 'CONNECT')"), "f")
      << "PUBLIC and main may not";
  EXPECT_EQ(value(*as_alpha(), "SHOW search_path"), "app, \"$user\", public");
}

TEST_F(GoldenTest, extensions_and_schemas_come_along) {
  auto inside = connect("shop");
  if (!inside->execute("CREATE SCHEMA tools; ")) FAIL();
  const auto made = inside->execute("CREATE EXTENSION pg_trgm SCHEMA tools");
  ASSERT_TRUE(made) << made.error().to_string();
  ASSERT_TRUE(inside->execute("SET ROLE shop"));
  ASSERT_TRUE(inside->execute("CREATE VIEW loud AS SELECT upper(text) AS text FROM notes"));
  make();
  EXPECT_EQ(value(*as_alpha(), "SELECT text FROM loud"), "FROM MAIN");
  EXPECT_EQ(value(*as_alpha(),
                  "SELECT nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace "
                  "WHERE extname = 'pg_trgm'"),
            "tools");
}

}  // namespace
}  // namespace hedge::worktree::test
