// A store of routes in a database of its own.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "base/sqlite.h"
#include "router/sqlite_route_store.h"
#include "tests/support/temporary_directory.h"

namespace hedge::router {

class SqliteStoreFixture : public testing::Test {
 protected:
  std::unique_ptr<SqliteRouteStore> open() {
    auto store = SqliteRouteStore::open(path());
    if (store) return std::move(*store);
    ADD_FAILURE() << store.error().to_string();
    return nullptr;
  }
  std::filesystem::path path() const { return directory_ / "routes.db"; }
  // As another program would: past the store's own checks.
  void run_sql(std::string_view sql) {
    auto database =
        sqlite::Database::open(path(), sqlite::OpenMode::read_write_create, sqlite::Durability::normal);
    ASSERT_TRUE(database) << database.error().to_string();
    const auto done = database->execute(sql);
    ASSERT_TRUE(done) << done.error().to_string();
  }

  test::TemporaryDirectory directory_;
};

}  // namespace hedge::router
