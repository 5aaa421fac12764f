#include "worktree/state_database.h"

#include <chrono>
#include <string>

#include "base/file.h"

namespace hedge::worktree {
namespace {

constexpr std::int64_t kSchemaVersion = 1;
constexpr auto kLockLimit = std::chrono::seconds(30);

// `names` holds every derived name of every worktree, so that two of them can never meet, whatever app and
// slug are.
constexpr std::string_view kSchema = R"sql(
CREATE TABLE worktrees (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, app TEXT NOT NULL, slug TEXT NOT NULL,
  instance TEXT NOT NULL, branch TEXT NOT NULL, branch_origin TEXT NOT NULL, upstream TEXT NOT NULL, base TEXT NOT NULL,
  repository TEXT NOT NULL, main_checkout TEXT NOT NULL, path TEXT NOT NULL, git_dir TEXT NOT NULL,
  with_stack INTEGER NOT NULL, nonce TEXT NOT NULL, secret TEXT NOT NULL,
  created_at INTEGER NOT NULL, last_used_at INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX one_main_checkout ON worktrees (repository) WHERE kind = 'main';
CREATE INDEX worktrees_of_repository ON worktrees (repository, branch);
CREATE TABLE names (
  system TEXT NOT NULL, name TEXT NOT NULL, worktree TEXT NOT NULL REFERENCES worktrees ON DELETE CASCADE,
  PRIMARY KEY (system, name)) STRICT;
CREATE INDEX names_of_worktree ON names (worktree);
CREATE TABLE ports (
  port INTEGER PRIMARY KEY, worktree TEXT NOT NULL REFERENCES worktrees ON DELETE CASCADE, service TEXT NOT NULL,
  UNIQUE (worktree, service)) STRICT;
CREATE TABLE ledger (
  position INTEGER PRIMARY KEY AUTOINCREMENT, worktree TEXT NOT NULL REFERENCES worktrees ON DELETE RESTRICT,
  kind TEXT NOT NULL, name TEXT NOT NULL, parameters TEXT NOT NULL, state TEXT NOT NULL, problem TEXT NOT NULL,
  changed_at INTEGER NOT NULL, UNIQUE (worktree, kind, name)) STRICT;
PRAGMA user_version = 1;
)sql";

Result<void> ensure_schema(sqlite::Database& database) {
  auto version = database.user_version();
  if (!version) return version.error();
  if (*version == kSchemaVersion) return {};
  if (*version != 0) {
    return Error(ErrorKind::corrupt, "the registry was written by another version of hedge (schema " +
                                         std::to_string(*version) + ", this one knows " +
                                         std::to_string(kSchemaVersion) + ")")
        .with_id("state_unreadable")
        .with_hint("use the newer hedge, or another --state-dir");
  }
  return database.transaction([&database]() -> Result<void> {
    // Another process may have been faster.
    auto now = database.user_version();
    if (!now) return now.error();
    if (*now != 0) return {};
    return database.execute(kSchema);
  });
}

}  // namespace

Error as_state_error(Error error) {
  if (!error.id().empty()) return error;
  switch (error.kind()) {
    case ErrorKind::corrupt:
    case ErrorKind::permission:
    case ErrorKind::not_found:
      return std::move(error).with_id("state_unreadable");
    case ErrorKind::no_space:
      return std::move(error).with_id("disk_full");
    case ErrorKind::busy:
      return std::move(error).with_id("busy");
    default:
      return error;
  }
}

Result<StateDatabase> StateDatabase::open(const config::Paths& paths) {
  for (const auto& directory : {paths.state, paths.locks_directory()}) {
    if (auto ready = ensure_directory(directory, 0700); !ready)
      return as_state_error(std::move(ready).error());
  }
  auto database = sqlite::Database::open(paths.registry_database(), sqlite::OpenMode::read_write_create,
                                         sqlite::Durability::full);
  if (!database) return as_state_error(std::move(database).error());
  if (auto ready = ensure_schema(*database); !ready) {
    return as_state_error(std::move(ready).error().with_context("open the registry"));
  }
  return StateDatabase(std::move(*database), paths.locks_directory() / "allocation.lock");
}

Result<void> StateDatabase::change(const Body& body) {
  const auto lock = FileLock::acquire(lock_path_, FileLock::Mode::exclusive, kLockLimit);
  if (!lock) return as_state_error(lock.error());
  auto done = database_.transaction([this, &body] { return body(database_); });
  if (!done) return as_state_error(std::move(done).error());
  return {};
}

Result<void> StateDatabase::rehearse(const Body& body) {
  const auto lock = FileLock::acquire(lock_path_, FileLock::Mode::exclusive, kLockLimit);
  if (!lock) return as_state_error(lock.error());
  if (auto begun = database_.execute("BEGIN IMMEDIATE"); !begun)
    return as_state_error(std::move(begun).error());
  auto done = body(database_);
  auto undone = database_.execute("ROLLBACK");
  if (!done) return as_state_error(std::move(done).error());
  if (!undone) return as_state_error(std::move(undone).error());
  return {};
}

}  // namespace hedge::worktree
