#include "worktree/data/sqlite_data.h"

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "base/sqlite.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

// What SQLite keeps beside a database.
constexpr const char* kCompanions[] = {"-wal", "-shm", "-journal"};

// A database that is whole or absent, whenever this process is killed: made beside its place, then moved
// there.
Result<void> make_database(const fs::path& source, const fs::path& target) {
  if (auto ready = ensure_directory(target.parent_path()); !ready) return ready;
  const fs::path temporary = target.string() + ".hedge-new";
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
  for (const char* companion : kCompanions) {
    if (auto removed = remove_file(temporary.string() + companion); !removed) return removed;
  }
  std::error_code problem;
  fs::rename(temporary, target, problem);
  if (problem) return Error::from_errno(problem.value(), "rename " + temporary.string());
  return {};
}

Result<void> remove_database(const fs::path& file) {
  for (const char* companion : kCompanions) {
    if (auto removed = remove_file(file.string() + companion); !removed) return removed;
  }
  if (auto removed = remove_file(file.string() + ".hedge-new"); !removed) return removed;
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

Result<bool> SqliteData::is_ours(const SqliteFile& database) const {
  const auto owner = read_file(database.marker);
  if (owner) return *owner == spec_.id;
  if (owner.error().kind() == ErrorKind::not_found) return false;
  return owner.error();
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
  // Claimed before it is made: nothing was there, so whatever is there later is ours.
  if (auto ready = ensure_directory(database.marker.parent_path(), 0700); !ready) return ready.error();
  if (auto claimed = write_file_atomically(database.marker, spec_.id, 0600); !claimed) return claimed.error();
  if (auto made = make_database(database.source, database.file); !made) return made.error();
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
    const auto ours = is_ours(*database);
    if (!ours) return ours.error();
    if (!*ours) continue;
    if (!leaves_checkout(database->file)) {
      if (auto removed = remove_database(database->file); !removed) return removed.error();
    }
    if (auto removed = remove_file(database->marker); !removed) return removed.error();
    change.action = Action::removed;
  }
  return change;
}

}  // namespace hedge::worktree
