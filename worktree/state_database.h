// The registry's file: one SQLite database that registry, ledger and port allocation share.
#pragma once

#include <filesystem>
#include <functional>

#include "base/file_lock.h"
#include "base/result.h"
#include "base/sqlite.h"
#include "config/paths.h"

namespace hedge::worktree {

// Gives an error of the database its stable id: `state_unreadable`, `disk_full` or `busy`.
Error as_state_error(Error error);

class StateDatabase {
 public:
  // Makes the file and its schema where they are missing.
  // Errors: corrupt `state_unreadable` (damaged, or written by a newer version: it is neither written nor
  // taken for empty), permission `state_unreadable`, no_space `disk_full`.
  static Result<StateDatabase> open(const config::Paths& paths);

  using Body = std::function<Result<void>(sqlite::Database&)>;
  // `body` in one transaction, under the machine-wide allocation lock (waits at most 30 s, then `busy`).
  Result<void> change(const Body& body);
  // As change(), but everything is rolled back at the end: what would be decided, for --dry-run.
  Result<void> rehearse(const Body& body);
  // For reading.
  sqlite::Database& database() { return database_; }

 private:
  StateDatabase(sqlite::Database database, std::filesystem::path lock_path)
      : database_(std::move(database)), lock_path_(std::move(lock_path)) {}
  sqlite::Database database_;
  std::filesystem::path lock_path_;
};

}  // namespace hedge::worktree
