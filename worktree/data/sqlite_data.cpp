#include "worktree/data/sqlite_data.h"

#include <algorithm>
#include <cstdint>
#include <system_error>

#include "base/file.h"
#include "base/sqlite.h"
#include "worktree/data/file_identity.h"
#include "worktree/data/sqlite_files.h"
#include "worktree/git/leftovers.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

Result<void> remove_companions(const fs::path& file) {
  for (const char* companion : kSqliteCompanions) {
    if (auto removed = remove_file(file.string() + companion); !removed) return removed;
  }
  return {};
}

// With its log, which the copy takes in.
std::uint64_t size_of(const fs::path& database) {
  std::uint64_t bytes = 0;
  for (const fs::path& file : {database, fs::path(database.string() + "-wal")}) {
    std::error_code failure;
    const auto size = fs::file_size(file, failure);
    if (!failure) bytes += size;
  }
  return bytes;
}

// A whole database at `temporary`, without companions.
Result<void> make_database(const fs::path& source, const fs::path& temporary) {
  if (auto removed = remove_file(temporary); !removed) return removed;
  if (path_exists(source)) {
    auto main = sqlite::Database::open(source, sqlite::OpenMode::read_only, sqlite::Durability::normal);
    if (!main) return std::move(main).error().with_context("open " + source.string());
    if (auto copied = main->backup_to(temporary); !copied) {
      static_cast<void>(remove_file(temporary));
      return copied;
    }
  } else {
    auto empty =
        sqlite::Database::open(temporary, sqlite::OpenMode::read_write_create, sqlite::Durability::normal);
    if (!empty) return empty.error();
  }
  return remove_companions(temporary);
}

Result<void> remove_database(const fs::path& file) {
  if (auto removed = remove_companions(file); !removed) return removed;
  return remove_file(file);
}

}  // namespace

bool SqliteData::leaves_checkout(const fs::path& file) const {
  std::error_code problem;
  const fs::path place = fs::weakly_canonical(file, problem);
  const fs::path checkout = fs::weakly_canonical(spec_.checkout, problem);
  const auto [end, rest] = std::mismatch(checkout.begin(), checkout.end(), place.begin(), place.end());
  static_cast<void>(rest);
  return end != checkout.end();
}

fs::path SqliteData::unfinished_path(const fs::path& file) const {
  return file.parent_path() / ("." + file.filename().string() + std::string(kDatabaseInfix) + spec_.id);
}

// What the marker of a database says: whose it is, and which file that is.
std::string SqliteData::claim_on(const std::string& identity) const {
  return spec_.id + "\n" + identity + "\n";
}

Result<SqliteData::Claim> SqliteData::claim_of(const SqliteFile& database) const {
  const auto marker = read_file(database.marker);
  if (!marker && marker.error().kind() == ErrorKind::not_found) return Claim::none;
  if (!marker) return marker.error();
  // The first line, not all of it: a marker without a file's identity claims nothing, and is still ours to remove.
  if (!marker->starts_with(spec_.id)) return Claim::none;
  const auto identity = file_identity(database.file);
  if (!identity && identity.error().kind() != ErrorKind::not_found) return identity.error();
  return identity && *marker == claim_on(*identity) ? Claim::this_file : Claim::another_file;
}

Result<Finding> SqliteData::check() {
  Finding finding;
  finding.presence = Presence::present;
  for (const SqliteFile* database : {&spec_.app, &spec_.test}) {
    const fs::path& file = database->file;
    if (leaves_checkout(file)) {
      finding.presence = Presence::foreign;
      finding.problems = {Error(ErrorKind::conflict,
                                file.string() + " leads out of the checkout: it is another one's database")
                              .with_id("ownership_conflict")
                              .with_hint("remove the link " + file.string())};
      return finding;
    }
    if (path_exists(file)) continue;
    finding.presence = Presence::missing;
    finding.problems.push_back(
        Error(ErrorKind::not_found, "no database " + file.string()).with_id("database_missing"));
  }
  return finding;
}

// False: it was there.
Result<bool> SqliteData::make(const SqliteFile& database) const {
  if (path_exists(database.file)) return false;
  if (auto ready = ensure_directory(database.marker.parent_path(), 0700); !ready) return ready.error();
  if (auto ready = ensure_directory(database.file.parent_path()); !ready) return ready.error();
  // Whole or absent, whenever this process is killed: made beside its place, claimed, then moved there.
  const fs::path temporary = unfinished_path(database.file);
  if (auto room = require_space(spec_.space, temporary, size_of(database.source), "a copy of " + database.source.string());
      !room) {
    return room.error();
  }
  if (auto made = make_database(database.source, temporary); !made) return made.error();
  const auto identity = file_identity(temporary);
  if (!identity) return identity.error();
  if (auto claimed = write_file_atomically(database.marker, claim_on(*identity), 0600); !claimed)
    return claimed.error();
  // A log of a database that is gone would be replayed into the new one.
  if (auto removed = remove_companions(database.file); !removed) return removed.error();
  std::error_code problem;
  fs::rename(temporary, database.file, problem);
  if (problem) return Error::from_errno(problem.value(), "rename " + temporary.string());
  return true;
}

Result<Change> SqliteData::converge() {
  const auto finding = check();
  if (!finding) return finding.error();
  Change change{kind(), name(), Action::none, {}};
  if (finding->presence == Presence::foreign) return finding->problems.front();
  for (const SqliteFile* database : {&spec_.app, &spec_.test}) {
    const auto made = make(*database);
    if (!made) return made.error();
    if (*made) change.action = Action::created;
  }
  if (change.action == Action::created) {
    change.detail = path_exists(spec_.app.source) ? "copied from " + spec_.app.source.string() : "empty";
  }
  return change;
}

Result<Change> SqliteData::remove() {
  Change change{kind(), name(), Action::none, {}};
  for (const SqliteFile* database : {&spec_.app, &spec_.test}) {
    const bool is_inside = !leaves_checkout(database->file);
    if (is_inside) {
      if (auto removed = remove_database(unfinished_path(database->file)); !removed) return removed.error();
    }
    const auto claim = claim_of(*database);
    if (!claim) return claim.error();
    if (*claim == Claim::none) continue;
    if (*claim == Claim::this_file && is_inside) {
      if (auto removed = remove_database(database->file); !removed) return removed.error();
      change.action = Action::removed;
    }
    if (auto removed = remove_file(database->marker); !removed) return removed.error();
  }
  return change;
}

Result<void> SqliteData::forget() {
  for (const SqliteFile* database : {&spec_.app, &spec_.test}) {
    const auto claim = claim_of(*database);
    if (!claim) return claim.error();
    if (*claim == Claim::none) continue;
    if (auto removed = remove_file(database->marker); !removed) return removed;
  }
  return {};
}

}  // namespace hedge::worktree
