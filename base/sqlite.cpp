#include "base/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <cerrno>
#include <thread>

#include "base/unique_fd.h"

namespace hedge::sqlite {
namespace {

ErrorKind kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ErrorKind::busy;
    case SQLITE_FULL: return ErrorKind::no_space;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT: return ErrorKind::corrupt;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH: return ErrorKind::permission;
    case SQLITE_CONSTRAINT: return ErrorKind::conflict;
    case SQLITE_CANTOPEN: return ErrorKind::not_found;
    default: return ErrorKind::io;
  }
}

Error error_of(sqlite3* database, std::string_view doing) {
  return Error(kind_of(sqlite3_extended_errcode(database)), std::string(doing) + ": " + sqlite3_errmsg(database));
}

// SQLite creates files with the umask's mode; state must be private whatever it is. A file that exists is not
// opened: closing any descriptor of it would drop the locks of every connection that this process has to it.
// Source: "How To Corrupt An SQLite Database File", section 2.2.
Result<void> create_private(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd && errno != EEXIST) return Error::from_errno(errno, "create " + path.string());
  return {};
}

// Turning WAL on needs the file for a moment, and SQLite does not ask the busy handler for it: with several processes
// opening a new database at once all but one would fail. So the waiting is ours.
Result<void> turn_wal_on(Database& database, std::chrono::milliseconds limit) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    auto done = database.execute("PRAGMA journal_mode=WAL");
    const bool busy = !done && done.error().kind() == ErrorKind::busy;
    if (!busy || std::chrono::steady_clock::now() >= deadline) return done;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Statement& Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL, and an empty view may have one.
  const char* bytes = text.data() == nullptr ? "" : text.data();
  sqlite3_bind_text(statement_.get(), index, bytes, static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), index, number);
  return *this;
}

Statement& Statement::bind_null(int index) {
  sqlite3_bind_null(statement_.get(), index);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error_of(sqlite3_db_handle(statement_.get()), "run statement");
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Error Database::last_error(std::string_view doing) const { return error_of(database_.get(), doing); }

Result<Database> Database::open(const std::filesystem::path& path, OpenMode mode, Durability durability,
                                std::chrono::milliseconds busy_limit) {
  const bool writes = mode == OpenMode::read_write_create;
  if (writes) {
    if (auto created = create_private(path); !created) return created.error();
  }
  sqlite3* raw = nullptr;
  const int flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) {
    if (raw == nullptr) return Error(ErrorKind::no_space, "open " + path.string() + ": out of memory");
    return database.last_error("open " + path.string());
  }
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, static_cast<int>(busy_limit.count()));
  std::string setup = "PRAGMA foreign_keys=ON;";
  if (writes) {
    if (auto ready = turn_wal_on(database, busy_limit); !ready) {
      return std::move(ready).error().with_context("open " + path.string());
    }
    setup += durability == Durability::full ? "PRAGMA synchronous=FULL;" : "PRAGMA synchronous=NORMAL;";
  }
  // The first statement that touches the file is where a foreign or damaged one shows.
  setup += "SELECT count(*) FROM sqlite_schema;";
  if (auto ready = database.execute(setup); !ready) {
    return std::move(ready).error().with_context("open " + path.string());
  }
  return database;
}

Result<void> Database::execute(std::string_view sql) {
  const std::string text(sql);
  if (sqlite3_exec(database_.get(), text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return last_error("run statement");
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) ==
      SQLITE_OK) {
    return Statement(statement);
  }
  return last_error("prepare statement");
}

Result<void> Database::execute(std::string_view sql, std::initializer_list<std::string_view> parameters) {
  auto statement = prepare(sql);
  if (!statement) return statement.error();
  int index = 0;
  for (const std::string_view parameter : parameters) statement->bind(++index, parameter);
  while (true) {
    auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return {};
  }
}

Result<void> Database::transaction(const std::function<Result<void>()>& body) {
  if (auto begun = execute("BEGIN IMMEDIATE"); !begun) return begun;
  auto done = body();
  if (done) done = execute("COMMIT");
  if (!done) (void)execute("ROLLBACK");
  return done;
}

namespace {

Result<std::int64_t> single_number(Database& database, std::string_view sql) {
  auto statement = database.prepare(sql);
  if (!statement) return statement.error();
  auto row = statement->step();
  if (!row) return row.error();
  return *row ? statement->number(0) : 0;
}

}  // namespace

Result<std::int64_t> Database::user_version() { return single_number(*this, "PRAGMA user_version"); }
Result<std::int64_t> Database::data_version() { return single_number(*this, "PRAGMA data_version"); }

std::int64_t Database::changes() const { return sqlite3_changes(database_.get()); }

Result<void> Database::backup_to(const std::filesystem::path& target) {
  if (auto created = create_private(target); !created) return created;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(target.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  const Database copy(raw);
  if (code != SQLITE_OK) return copy.last_error("open " + target.string());
  sqlite3_backup* backup = sqlite3_backup_init(raw, "main", database_.get(), "main");
  if (backup == nullptr) return copy.last_error("copy database to " + target.string());
  constexpr int kAllPages = -1;
  const int stepped = sqlite3_backup_step(backup, kAllPages);
  sqlite3_backup_finish(backup);
  if (stepped == SQLITE_DONE) return {};
  return Error(kind_of(stepped), "copy database to " + target.string() + ": " + sqlite3_errstr(stepped));
}

}  // namespace hedge::sqlite
