#include "worktree/registry.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "worktree/identity.h"

namespace hedge::worktree {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kNonceBytes = 20;  // 32 characters

constexpr std::string_view kSelect =
    "SELECT id, kind, state, app, slug, instance, branch, branch_origin, upstream, base, repository, "
    "main_checkout, "
    "path, git_dir, with_stack, nonce, secret, created_at, last_used_at FROM worktrees ";

std::int64_t to_seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}
WallTime from_seconds(std::int64_t seconds) {
  return WallTime(std::chrono::seconds(seconds));
}

Result<WorktreeRecord> read_row(const sqlite::Statement& row) {
  const auto kind = parse_worktree_kind(row.text(1));
  const auto state = parse_worktree_state(row.text(2));
  const auto origin = parse_branch_origin(row.text(7));
  if (!kind) return kind.error();
  if (!state) return state.error();
  if (!origin) return origin.error();
  WorktreeRecord record;
  record.id = row.text(0);
  record.kind = *kind;
  record.state = *state;
  record.app = row.text(3);
  record.slug = row.text(4);
  record.instance = row.text(5);
  record.branch = row.text(6);
  record.branch_origin = *origin;
  record.upstream = row.text(8);
  record.base = row.text(9);
  record.repository = row.text(10);
  record.main_checkout = row.text(11);
  record.path = row.text(12);
  record.git_dir = row.text(13);
  record.stack = row.number(14) != 0 ? StackWish::with_stack : StackWish::without_stack;
  record.nonce = row.text(15);
  record.secret = row.text(16);
  record.created_at = from_seconds(row.number(17));
  record.last_used_at = from_seconds(row.number(18));
  return record;
}

// `condition` follows WHERE and has text parameters only.
Result<std::vector<WorktreeRecord>> select(sqlite::Database& database, std::string_view condition,
                                           const std::vector<std::string>& parameters) {
  auto statement =
      database.prepare(std::string(kSelect) + std::string(condition) + " ORDER BY created_at, id");
  if (!statement) return as_state_error(std::move(statement).error());
  int index = 0;
  for (const std::string& parameter : parameters) statement->bind(++index, parameter);
  std::vector<WorktreeRecord> records;
  while (true) {
    auto more = statement->step();
    if (!more) return as_state_error(std::move(more).error());
    if (!*more) return records;
    auto record = read_row(*statement);
    if (!record) return record.error();
    records.push_back(std::move(*record));
  }
}

// The newest of them, if any.
Result<std::optional<WorktreeRecord>> select_one(sqlite::Database& database, std::string_view condition,
                                                 const std::vector<std::string>& parameters) {
  auto records = select(database, condition, parameters);
  if (!records) return records.error();
  if (records->empty()) return std::optional<WorktreeRecord>();
  return std::optional<WorktreeRecord>(std::move(records->back()));
}

using SystemName = std::pair<std::string_view, std::string>;

// Each name with the space in which it has to be unique.
std::vector<SystemName> claimed_names(const WorktreeNames& names, const std::filesystem::path& path) {
  std::vector<SystemName> claims{
      {"host", names.host}, {"alias", names.network_alias}, {"path", path.string()}};
  for (const auto& [purpose, name] : names.cookies) claims.emplace_back("cookie", name);
  if (names.slug.empty()) return claims;
  claims.insert(claims.end(), {{"compose", names.compose_project},
                               {"database", names.database},
                               {"database", names.test_database},
                               {"role", names.role},
                               {"redis", names.redis_prefix},
                               {"redis_user", names.redis_user},
                               {"vhost", names.vhost},
                               {"queue_user", names.queue_user}});
  return claims;
}

Result<std::optional<std::string>> holder_of(sqlite::Database& database, const SystemName& claim) {
  auto statement = database.prepare("SELECT worktree FROM names WHERE system = ? AND name = ?");
  if (!statement) return statement.error();
  statement->bind(1, claim.first).bind(2, claim.second);
  auto row = statement->step();
  if (!row) return row.error();
  if (!*row) return std::optional<std::string>();
  return std::optional<std::string>(statement->text(0));
}

Result<std::vector<std::string>> known_apps(sqlite::Database& database) {
  auto statement = database.prepare("SELECT DISTINCT app FROM worktrees");
  if (!statement) return statement.error();
  std::vector<std::string> apps;
  while (true) {
    auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return apps;
    apps.push_back(statement->text(0));
  }
}

std::filesystem::path anchor_of(const Birth& birth) {
  return birth.main_checkout.empty() ? birth.repository : birth.main_checkout;
}

// Slug and path of a linked worktree: the first candidate of which no derived name is taken.
Result<void> choose_names(sqlite::Database& database, const Birth& birth, WorktreeRecord& record) {
  auto apps = known_apps(database);
  if (!apps) return apps.error();
  apps->push_back(birth.app);
  std::optional<Error> failure;
  const auto path_for = [&birth](const std::string& slug) -> Result<std::filesystem::path> {
    if (!birth.path.empty()) return birth.path;
    return derive_directory(anchor_of(birth), birth.app, slug, birth.rules);
  };
  const auto is_taken = [&](const std::string& slug) {
    const auto path = path_for(slug);
    // A path that is too long or a database that fails ends the search; the reason is told below.
    if (!path) failure = path.error();
    if (failure) return false;
    for (const SystemName& claim : claimed_names(derive_names(birth.app, slug, birth.rules), *path)) {
      auto holder = holder_of(database, claim);
      if (!holder) {
        failure = holder.error();
        return false;
      }
      // An adopted checkout may stand where a worktree stood whose record is an orphan.
      const bool is_own_place = claim.first == "path" && !birth.path.empty();
      if (holder->has_value() && !is_own_place) return true;
    }
    return false;
  };
  const std::string branch = birth.branch.empty() ? birth.path.filename().string() : birth.branch;
  auto slug = choose_slug({branch, birth.instance, *apps, record.id, is_taken});
  if (!slug) return slug.error();
  if (failure) return *failure;
  record.slug = std::move(*slug);
  auto path = path_for(record.slug);
  if (!path) return path.error();
  record.path = std::move(*path);
  return {};
}

Result<void> insert_record(sqlite::Database& database, const WorktreeRecord& record) {
  auto statement = database.prepare(
      "INSERT INTO worktrees (id, kind, state, app, slug, instance, branch, branch_origin, upstream, base, "
      "repository, "
      "main_checkout, path, git_dir, with_stack, nonce, secret, created_at, last_used_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!statement) return statement.error();
  statement->bind(1, record.id).bind(2, to_string(record.kind)).bind(3, to_string(record.state));
  statement->bind(4, record.app).bind(5, record.slug).bind(6, record.instance).bind(7, record.branch);
  statement->bind(8, to_string(record.branch_origin)).bind(9, record.upstream).bind(10, record.base);
  statement->bind(11, record.repository.string()).bind(12, record.main_checkout.string());
  statement->bind(13, record.path.string()).bind(14, record.git_dir.string());
  statement->bind(15, std::int64_t{record.stack == StackWish::with_stack ? 1 : 0});
  statement->bind(16, record.nonce).bind(17, record.secret);
  statement->bind(18, to_seconds(record.created_at)).bind(19, to_seconds(record.last_used_at));
  auto done = statement->step();
  if (!done) return done.error();
  return {};
}

Result<void> claim_names(sqlite::Database& database, const WorktreeRecord& record,
                         const WorktreeNames& names) {
  for (const SystemName& claim : claimed_names(names, record.path)) {
    const bool may_be_held = claim.first == "path";
    auto holder = holder_of(database, claim);
    if (!holder) return holder.error();
    if (holder->has_value() && !may_be_held) {
      return Error(ErrorKind::conflict,
                   "another worktree has the " + std::string(claim.first) + " " + claim.second)
          .with_id("name_taken")
          .with_hint("`hedge list` shows it; another clone of this repository needs another app.name");
    }
    auto done = database.execute(
        "INSERT INTO names (system, name, worktree) VALUES (?, ?, ?) "
        "ON CONFLICT (system, name) DO UPDATE SET worktree = excluded.worktree",
        {claim.first, claim.second, record.id});
    if (!done) return done;
  }
  return {};
}

Result<std::optional<WorktreeRecord>> find_existing(sqlite::Database& database, const Birth& birth) {
  const std::string repository = birth.repository.string();
  if (birth.kind == WorktreeKind::main)
    return select_one(database, "WHERE kind = 'main' AND repository = ?", {repository});
  // An adopted checkout without an identity is a new birth, whatever stood at its path before.
  if (!birth.git_dir.empty()) return std::optional<WorktreeRecord>();
  return select_one(database, "WHERE kind = 'worktree' AND repository = ? AND branch = ? AND instance = ?",
                    {repository, birth.branch, birth.instance});
}

Result<WorktreeRecord> admit_in(sqlite::Database& database, const Birth& birth, WallTime now) {
  auto existing = find_existing(database, birth);
  if (!existing) return existing.error();
  if (existing->has_value()) return std::move(**existing);
  WorktreeRecord record;
  record.id = new_identity(now);
  record.kind = birth.kind;
  record.app = birth.app;
  record.instance = birth.instance;
  record.branch = birth.branch;
  record.branch_origin = birth.branch_origin;
  record.upstream = birth.upstream;
  record.base = birth.base;
  record.repository = birth.repository;
  record.main_checkout = birth.main_checkout;
  record.path = birth.path;
  record.git_dir = birth.git_dir;
  record.stack = birth.stack;
  record.nonce = to_base32(random_bytes(kNonceBytes));
  record.secret = to_hex(random_bytes(kSecretBytes));
  record.created_at = now;
  record.last_used_at = now;
  if (birth.kind == WorktreeKind::linked) {
    if (auto chosen = choose_names(database, birth, record); !chosen) return chosen.error();
  }
  const WorktreeNames names = birth.kind == WorktreeKind::main
                                  ? derive_main_names(record.app, birth.rules)
                                  : derive_names(record.app, record.slug, birth.rules);
  if (auto inserted = insert_record(database, record); !inserted) return inserted.error();
  if (auto claimed = claim_names(database, record, names); !claimed) return claimed.error();
  return record;
}

}  // namespace

Result<WorktreeRecord> Registry::admit(const Birth& birth) {
  std::optional<WorktreeRecord> record;
  auto done = state_.change([&](sqlite::Database& database) -> Result<void> {
    auto admitted = admit_in(database, birth, clock_.wall());
    if (!admitted) return admitted.error();
    record = std::move(*admitted);
    return {};
  });
  if (!done) return done.error();
  return std::move(*record);
}

Result<WorktreeRecord> Registry::propose(const Birth& birth) {
  std::optional<WorktreeRecord> record;
  auto done = state_.rehearse([&](sqlite::Database& database) -> Result<void> {
    auto admitted = admit_in(database, birth, clock_.wall());
    if (!admitted) return admitted.error();
    record = std::move(*admitted);
    return {};
  });
  if (!done) return done.error();
  return std::move(*record);
}

Result<std::vector<WorktreeRecord>> Registry::load_all() {
  return select(state_.database(), "", {});
}

Result<std::optional<WorktreeRecord>> Registry::find(std::string_view id) {
  return select_one(state_.database(), "WHERE id = ?", {std::string(id)});
}

Result<std::vector<WorktreeRecord>> Registry::load_repository(const std::filesystem::path& repository) {
  return select(state_.database(), "WHERE repository = ?", {repository.string()});
}

Result<std::optional<WorktreeRecord>> Registry::find_path(const std::filesystem::path& path) {
  return select_one(state_.database(), "WHERE path = ?", {path.string()});
}

Result<void> Registry::update(const WorktreeRecord& record) {
  return state_.change([&record](sqlite::Database& database) -> Result<void> {
    auto statement = database.prepare(
        "UPDATE worktrees SET state = ?, branch = ?, branch_origin = ?, upstream = ?, base = ?, path = ?, "
        "git_dir = ?, "
        "main_checkout = ?, with_stack = ?, repository = ? WHERE id = ?");
    if (!statement) return statement.error();
    statement->bind(1, to_string(record.state))
        .bind(2, record.branch)
        .bind(3, to_string(record.branch_origin));
    statement->bind(4, record.upstream).bind(5, record.base).bind(6, record.path.string());
    statement->bind(7, record.git_dir.string()).bind(8, record.main_checkout.string());
    statement->bind(9, std::int64_t{record.stack == StackWish::with_stack ? 1 : 0});
    statement->bind(10, record.repository.string()).bind(11, record.id);
    auto done = statement->step();
    if (!done) return done.error();
    if (database.changes() != 1) {
      return Error(ErrorKind::not_found, "the registry has no worktree " + record.id)
          .with_id("worktree_not_found");
    }
    return {};
  });
}

Result<bool> Registry::set_branch(const WorktreeRecord& seen, const std::string& branch) {
  bool is_set = false;
  auto done = state_.change([&](sqlite::Database& database) -> Result<void> {
    auto changed = database.execute(
        "UPDATE worktrees SET branch = ?, branch_origin = ? "
        "WHERE id = ? AND branch = ? AND path = ? AND git_dir = ?",
        {branch, to_string(BranchOrigin::none), seen.id, seen.branch, seen.path.string(),
         seen.git_dir.string()});
    if (!changed) return changed;
    is_set = database.changes() == 1;
    return {};
  });
  if (!done) return done.error();
  return is_set;
}

Result<bool> Registry::set_place(const WorktreeRecord& seen, const WorktreeRecord& moved) {
  bool is_set = false;
  auto done = state_.change([&](sqlite::Database& database) -> Result<void> {
    auto changed = database.execute(
        "UPDATE worktrees SET repository = ?, main_checkout = ?, path = ?, git_dir = ? "
        "WHERE id = ? AND repository = ? AND main_checkout = ? AND path = ? AND git_dir = ?",
        {moved.repository.string(), moved.main_checkout.string(), moved.path.string(), moved.git_dir.string(),
         seen.id, seen.repository.string(), seen.main_checkout.string(), seen.path.string(),
         seen.git_dir.string()});
    if (!changed) return changed;
    is_set = database.changes() == 1;
    return {};
  });
  if (!done) return done.error();
  return is_set;
}

Result<void> Registry::touch(std::string_view id) {
  return state_.change([&](sqlite::Database& database) -> Result<void> {
    auto statement = database.prepare("UPDATE worktrees SET last_used_at = ? WHERE id = ?");
    if (!statement) return statement.error();
    statement->bind(1, to_seconds(clock_.wall())).bind(2, id);
    auto done = statement->step();
    if (!done) return done.error();
    return {};
  });
}

Result<void> Registry::forget(std::string_view id) {
  return state_.change([id](sqlite::Database& database) -> Result<void> {
    auto done = database.execute("DELETE FROM worktrees WHERE id = ?", {id});
    if (done || done.error().kind() != ErrorKind::conflict) return done;
    return Error(ErrorKind::refused, "something of worktree " + std::string(id) + " is still in the ledger");
  });
}

}  // namespace hedge::worktree
