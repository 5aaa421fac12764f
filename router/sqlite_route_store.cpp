#include "router/sqlite_route_store.h"

#include <sys/stat.h>

#include "base/text.h"
#include "router/host_pattern.h"

namespace hedge::router {
namespace {

constexpr std::int64_t kSchemaVersion = 2;

constexpr std::string_view kSchema = R"(
CREATE TABLE IF NOT EXISTS routes (
  host     TEXT NOT NULL PRIMARY KEY,
  wildcard INTEGER NOT NULL,
  upstream TEXT NOT NULL,
  protocol TEXT NOT NULL,
  worktree TEXT NOT NULL,
  state    TEXT NOT NULL
) WITHOUT ROWID;
-- Hosts in the order in which they were changed, so that an edge with 100,000 routes reads one when one has
-- changed. Triggers, so that no writer can forget it. The last few thousand are enough: an edge that is further
-- behind reads everything.
CREATE TABLE IF NOT EXISTS route_changes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  host   TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS route_put AFTER INSERT ON routes BEGIN
  INSERT INTO route_changes (host) VALUES (new.host);
END;
CREATE TRIGGER IF NOT EXISTS route_changed AFTER UPDATE ON routes BEGIN
  INSERT INTO route_changes (host) VALUES (new.host);
  INSERT INTO route_changes (host) SELECT old.host WHERE old.host <> new.host;
END;
CREATE TRIGGER IF NOT EXISTS route_removed AFTER DELETE ON routes BEGIN
  INSERT INTO route_changes (host) VALUES (old.host);
END;
CREATE TRIGGER IF NOT EXISTS route_change_forgotten AFTER INSERT ON route_changes WHEN new.number % 1024 = 0 BEGIN
  DELETE FROM route_changes WHERE number <= new.number - 4096;
END;
PRAGMA user_version = 2;
)";
constexpr std::string_view kColumns = "SELECT host, wildcard, upstream, protocol, worktree, state FROM routes ";

// Gives a database's failure the identifier that people look up.
Error store_error(Error error, const std::filesystem::path& path) {
  const ErrorKind kind = error.kind();
  Error named = std::move(error).with_context("route store " + path.string());
  switch (kind) {
    case ErrorKind::no_space:
      return std::move(named).with_id("disk_full").with_hint("free some space; nothing was changed");
    case ErrorKind::busy:
      return std::move(named).with_id("busy");
    case ErrorKind::corrupt:
    case ErrorKind::permission:
    case ErrorKind::not_found:
    case ErrorKind::io:
      return std::move(named).with_id("state_unreadable");
    default:
      return named;
  }
}

std::string owner_name(std::string_view worktree) {
  return worktree.empty() ? "a hand-made route" : "worktree " + printable(worktree);
}

Error conflict(std::string_view host, std::string_view owner, std::string_view claimant) {
  return Error(ErrorKind::conflict, "host " + std::string(host) + " belongs to " + owner_name(owner) +
                                        ", not to " + owner_name(claimant))
      .with_id("route_conflict")
      .with_hint("`hedge route ls` shows who has which host");
}

Result<Route> read_route(const sqlite::Statement& row) {
  Route route;
  auto host = canonical_host(row.text(0));
  if (!host) return host.error();
  route.host = std::move(*host);
  route.match = row.number(1) != 0 ? HostMatch::exact_and_below : HostMatch::exact;
  auto upstream = parse_upstream(row.text(2));
  if (!upstream) return upstream.error();
  route.upstream = std::move(*upstream);
  auto protocol = parse_protocol(row.text(3));
  if (!protocol) return protocol.error();
  route.protocol = *protocol;
  route.worktree = row.text(4);
  auto state = parse_route_state(row.text(5));
  if (!state) return state.error();
  route.state = *state;
  return route;
}

Result<void> ensure_schema(sqlite::Database& database) {
  // Two programs may create the table at once: the version is looked at again inside the transaction.
  return database.transaction([&database]() -> Result<void> {
    auto version = database.user_version();
    if (!version) return version.error();
    if (*version >= kSchemaVersion) return {};
    return database.execute(kSchema);
  });
}

}  // namespace

SqliteRouteStore::SqliteRouteStore(std::filesystem::path path, sqlite::Database database,
                                   FileIdentity identity, bool is_newer)
    : path_(std::move(path)), database_(std::move(database)), identity_(identity), is_newer_(is_newer) {}

std::optional<SqliteRouteStore::FileIdentity> SqliteRouteStore::identify(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileIdentity{info.st_dev, info.st_ino};
}

Result<std::unique_ptr<SqliteRouteStore>> SqliteRouteStore::open(const std::filesystem::path& path,
                                                                 std::chrono::milliseconds busy_limit) {
  auto database = sqlite::Database::open(path, sqlite::OpenMode::read_write_create, sqlite::Durability::full,
                                         busy_limit);
  if (!database) return store_error(std::move(database).error(), path);
  const auto identity = identify(path);
  if (!identity) return store_error(Error(ErrorKind::not_found, "removed while it was opened"), path);
  auto version = database->user_version();
  if (!version) return store_error(std::move(version).error(), path);
  if (*version < kSchemaVersion) {
    if (auto ready = ensure_schema(*database); !ready) return store_error(std::move(ready).error(), path);
  }
  return std::unique_ptr<SqliteRouteStore>(
      new SqliteRouteStore(path, std::move(*database), *identity, *version > kSchemaVersion));
}

Result<LoadedRoutes> SqliteRouteStore::load_all() {
  LoadedRoutes loaded;
  // Before the routes: what changes meanwhile is then told again.
  if (!is_newer_) {
    auto span = find_span();
    if (!span) return store_error(std::move(span).error(), path_);
    loaded.mark = span->last;
  }
  auto rows = database_.prepare(std::string(kColumns) + "ORDER BY host");
  if (!rows) return store_error(std::move(rows).error(), path_);
  while (true) {
    auto row = rows->step();
    if (!row) return store_error(std::move(row).error(), path_);
    if (!*row) return loaded;
    auto route = read_route(*rows);
    if (route) {
      loaded.routes.push_back(std::move(*route));
    } else {
      loaded.unreadable.push_back({printable(rows->text(0)), std::move(route).error()});
    }
  }
}

Result<SqliteRouteStore::ChangeSpan> SqliteRouteStore::find_span() {
  auto row = database_.prepare("SELECT min(number), max(number) FROM route_changes");
  if (!row) return row.error();
  if (auto found = row->step(); !found) return found.error();
  return ChangeSpan{row->number(0), row->number(1)};
}

Result<std::optional<ChangedRoutes>> SqliteRouteStore::load_changes(std::int64_t mark) {
  if (is_newer_) return std::optional<ChangedRoutes>();
  auto span = find_span();
  if (!span) return store_error(std::move(span).error(), path_);
  const bool is_known = mark == span->last || (mark < span->last && mark >= span->first - 1);
  if (!is_known) return std::optional<ChangedRoutes>();
  ChangedRoutes changed;
  changed.mark = span->last;
  auto hosts = database_.prepare("SELECT DISTINCT host FROM route_changes WHERE number > ?1 AND number <= ?2");
  if (!hosts) return store_error(std::move(hosts).error(), path_);
  hosts->bind(1, mark).bind(2, span->last);
  while (true) {
    auto more = hosts->step();
    if (!more) return store_error(std::move(more).error(), path_);
    if (!*more) return std::optional(std::move(changed));
    if (auto read = read_changed(hosts->text(0), changed); !read)
      return store_error(std::move(read).error(), path_);
  }
}

Result<void> SqliteRouteStore::read_changed(const std::string& host, ChangedRoutes& changed) {
  auto row = database_.prepare(std::string(kColumns) + "WHERE host = ?1");
  if (!row) return row.error();
  auto found = row->bind(1, host).step();
  if (!found) return found.error();
  if (*found) {
    auto route = read_route(*row);
    if (route) {
      changed.put.push_back(std::move(*route));
      return {};
    }
    changed.unreadable.push_back({printable(host), std::move(route).error()});
  }
  auto canonical = canonical_host(host);
  changed.removed.push_back(canonical ? std::move(*canonical) : host);
  return {};
}

Result<void> SqliteRouteStore::require_writable() const {
  if (!is_newer_) return {};
  return Error(ErrorKind::unsupported, "route store " + path_.string() + " was written by a newer hedge")
      .with_id("state_newer")
      .with_hint("use the newer hedge, or another state directory");
}

Result<std::optional<std::string>> SqliteRouteStore::find_owner(std::string_view host) {
  auto owner = database_.prepare("SELECT worktree FROM routes WHERE host = ?1");
  if (!owner) return owner.error();
  auto row = owner->bind(1, host).step();
  if (!row) return row.error();
  return *row ? std::optional(owner->text(0)) : std::nullopt;
}

Result<void> SqliteRouteStore::put(const Route& route) {
  if (auto writable = require_writable(); !writable) return writable;
  auto host = canonical_host(route.host);
  if (!host) return host.error();
  auto done = database_.transaction([&]() -> Result<void> {
    auto owner = find_owner(*host);
    if (!owner) return owner.error();
    if (*owner && **owner != route.worktree) return conflict(*host, **owner, route.worktree);
    const std::string_view wildcard = route.match == HostMatch::exact_and_below ? "1" : "0";
    return database_.execute(
        "INSERT OR REPLACE INTO routes (host, wildcard, upstream, protocol, worktree, state) "
        "VALUES (?1, CAST(?2 AS INTEGER), ?3, ?4, ?5, ?6)",
        {*host, wildcard, to_string(route.upstream), to_string(route.protocol), route.worktree,
         to_string(route.state)});
  });
  if (!done && done.error().id() != "route_conflict") return store_error(std::move(done).error(), path_);
  return done;
}

Result<bool> SqliteRouteStore::remove(std::string_view host, std::string_view worktree) {
  if (auto writable = require_writable(); !writable) return writable.error();
  // A record that no longer reads as a host must still be removable, so the text is only lower-cased where it
  // does.
  auto canonical = canonical_host(host);
  const std::string key = canonical ? std::move(*canonical) : std::string(host);
  bool existed = false;
  auto done = database_.transaction([&]() -> Result<void> {
    auto owner = find_owner(key);
    if (!owner) return owner.error();
    if (!*owner) return {};
    if (**owner != worktree) return conflict(printable(key), **owner, worktree);
    existed = true;
    return database_.execute("DELETE FROM routes WHERE host = ?1", {key});
  });
  if (done) return existed;
  if (done.error().id() == "route_conflict") return done.error();
  return store_error(std::move(done).error(), path_);
}

Result<int> SqliteRouteStore::set_state(std::string_view worktree, RouteState state) {
  if (auto writable = require_writable(); !writable) return writable.error();
  int count = 0;
  auto done = database_.transaction([&]() -> Result<void> {
    auto changed =
        database_.execute("UPDATE routes SET state = ?1 WHERE worktree = ?2", {to_string(state), worktree});
    count = static_cast<int>(database_.changes());
    return changed;
  });
  if (!done) return store_error(std::move(done).error(), path_);
  return count;
}

Result<std::int64_t> SqliteRouteStore::version() {
  if (identify(path_) != identity_) {
    return Error(ErrorKind::not_found, "route store " + path_.string() + " was removed or replaced");
  }
  auto version = database_.data_version();
  if (!version) return store_error(std::move(version).error(), path_);
  return version;
}

}  // namespace hedge::router
