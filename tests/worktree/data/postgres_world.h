// Against a real PostgreSQL server, whose superuser URL is in HEDGE_TEST_POSTGRES_URL
// (tests/support/private_postgres.py).
#include <atomic>
#include <cstdlib>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "tests/support/temporary_directory.h"
#include "worktree/data/postgres.h"

namespace hedge::worktree::test {

inline std::string server_url() {
  const char* url = std::getenv("HEDGE_TEST_POSTGRES_URL");
  EXPECT_NE(url, nullptr) << "run by tests/support/private_postgres.py";
  return url == nullptr ? std::string() : url;
}

class PostgresWorld : public ::testing::Test {
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
    for (const PgRow& row :
         rows("SELECT datname FROM pg_database WHERE datname NOT IN ('postgres','template0','template1')")) {
      must("ALTER DATABASE " + quote_identifier(*row[0]) + " WITH IS_TEMPLATE false");
      must("DROP DATABASE " + quote_identifier(*row[0]) + " WITH (FORCE)");
    }
    for (const PgRow& row :
         rows("SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND rolname <> current_user")) {
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
  static std::string value(PgConnection&& connection, const std::string& sql) {
    return value(connection, sql);
  }
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

  hedge::test::TemporaryDirectory directory_;
  SystemCommandRunner runner_;
  std::optional<PgConnection> admin_;
  std::optional<PgConnection> main_;
};

}  // namespace hedge::worktree::test
