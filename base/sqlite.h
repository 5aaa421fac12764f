// SQLite with errors as values. One connection belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hedge::sqlite {

enum class OpenMode { read_only, read_write_create };
// How much a committed transaction survives: `normal` a crash of the process, `full` also of the machine.
enum class Durability { normal, full };

class Statement {
 public:
  // Parameters are numbered from 1.
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::int64_t number);
  Statement& bind_null(int index);

  // True: a row is there. False: done. Errors: see Database::execute().
  Result<bool> step();
  // Columns are numbered from 0.
  std::string text(int column) const;
  std::int64_t number(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // WAL mode, foreign keys on; waits up to `busy_limit` for another writer. A new file is created with mode 0600.
  // Errors: corrupt (not a database, or damaged), permission, no_space, busy, io.
  static Result<Database> open(const std::filesystem::path& path, OpenMode mode, Durability durability,
                               std::chrono::milliseconds busy_limit = std::chrono::seconds(5));

  // Runs statements without parameters or rows. Errors: conflict (a constraint), no_space, busy, corrupt, io.
  Result<void> execute(std::string_view sql);
  Result<Statement> prepare(std::string_view sql);
  // One statement with text parameters and no rows.
  Result<void> execute(std::string_view sql, std::initializer_list<std::string_view> parameters);

  // BEGIN IMMEDIATE … COMMIT around `body`; ROLLBACK if it fails.
  Result<void> transaction(const std::function<Result<void>()>& body);

  // PRAGMA user_version: the schema's version.
  Result<std::int64_t> user_version();
  // Changes whenever another connection has committed. Source: SQLite, PRAGMA data_version.
  Result<std::int64_t> data_version();
  // Rows that the last statement changed.
  std::int64_t changes() const;

  // Copies this database, consistently and while it is used, over the file at `target` (SQLite's backup API).
  Result<void> backup_to(const std::filesystem::path& target);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}
  Error last_error(std::string_view doing) const;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace hedge::sqlite
