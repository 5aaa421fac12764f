#include "worktree/data/postgres.h"

#include "base/file.h"

namespace hedge::worktree {
namespace {

// True where asking again later may give another answer.
bool is_down(const Error& error) {
  return error.kind() == ErrorKind::unavailable || error.kind() == ErrorKind::timed_out;
}

}  // namespace

PostgresData::PostgresData(PostgresSpec spec, CommandRunner& runner)
    : spec_(std::move(spec)), runner_(runner) {}

// As the administrator. Today's URL may be a correction of the kept one, or say less than it: the kept one may
// have come from an environment, with its password.
Result<PgConnection> PostgresData::connect() {
  auto admin = PgConnection::connect(spec_.golden.admin);
  const bool is_refused = !admin && admin.error().id() == "database_access_denied";
  if (!is_refused) return admin;
  const std::string first = spec_.golden.admin.url;
  for (const std::string& url : spec_.other_urls) {
    if (url == first) continue;
    PgTarget other = spec_.golden.admin;
    other.url = url;
    auto as_other = PgConnection::connect(other);
    if (!as_other) continue;
    spec_.golden.admin = other;
    return as_other;
  }
  return admin;
}

Result<Finding> PostgresData::check() {
  Finding finding;
  if (!spec_.other_server.empty()) {
    finding.presence = Presence::foreign;
    finding.problems.push_back(Error(ErrorKind::conflict, "the databases of this worktree are not on " + spec_.other_server)
                                   .with_id("database_server_changed"));
    return finding;
  }
  auto admin = connect();
  if (!admin) {
    finding.problems.push_back(admin.error());
    return finding;
  }
  auto looked = look(*admin);
  if (looked || !is_down(looked.error())) return looked;
  finding.problems.push_back(looked.error());
  return finding;
}

Result<void> PostgresData::look_at_database(PgConnection& admin, const std::string& name, Finding& finding) {
  const std::string tag = owner_tag(spec_.id);
  const auto facts = fetch_database(admin, name);
  if (!facts) return facts.error();
  if (!*facts) {
    finding.problems.push_back(
        Error(ErrorKind::not_found, "no database " + name).with_id("database_missing"));
  } else if ((*facts)->tag != tag && ((*facts)->owner != spec_.role || !(*facts)->tag.empty())) {
    finding.presence = Presence::foreign;
    finding.problems = {Error(ErrorKind::conflict, "the database " + name + " belongs to somebody else")
                            .with_id("ownership_conflict")};
  } else if ((*facts)->tag != tag || (*facts)->owner != spec_.role || (*facts)->public_may_connect) {
    finding.problems.push_back(
        Error(ErrorKind::conflict, "the database " + name + " is not set up completely")
            .with_id("database_missing"));
  }
  return {};
}

// As the application itself: the password, pg_hba.conf and the server's limits have their say.
Result<void> PostgresData::try_as_application(PgConnection& admin, Finding& finding) {
  PgTarget own = spec_.golden.admin;
  own.user = spec_.role;
  own.password = spec_.password;
  own.database = spec_.database;
  const auto connection = PgConnection::connect(own);
  if (connection) return {};
  Error problem = connection.error();
  if (problem.id() == "pg_connections_exhausted") {
    const auto use = fetch_connection_use(admin);
    if (use) problem = std::move(problem).with_context(use->holders + " hold the server's connections");
  }
  finding.problems.push_back(std::move(problem));
  return {};
}

Result<Finding> PostgresData::look(PgConnection& admin) {
  Finding finding;
  const auto role = fetch_role(admin, spec_.role);
  if (!role) return role.error();
  if (*role && (*role)->tag != owner_tag(spec_.id)) {
    finding.presence = Presence::foreign;
    finding.problems = {Error(ErrorKind::conflict, "the role " + spec_.role + " belongs to somebody else")
                            .with_id("ownership_conflict")};
    return finding;
  }
  if (!*role)
    finding.problems.push_back(
        Error(ErrorKind::not_found, "no role " + spec_.role).with_id("database_missing"));
  for (const std::string& name : {spec_.database, spec_.test_database}) {
    if (auto looked = look_at_database(admin, name, finding); !looked) return looked.error();
    if (finding.presence == Presence::foreign) return finding;
  }
  if (finding.problems.empty()) {
    if (auto tried = try_as_application(admin, finding); !tried) return tried.error();
  }
  constexpr std::size_t kParts = 3;  // the role and two databases
  finding.presence = finding.problems.empty()            ? Presence::present
                     : finding.problems.size() == kParts ? Presence::missing
                                                         : Presence::differs;
  return finding;
}

ClonePlan PostgresData::clone_plan(const std::string& name) const {
  ClonePlan plan;
  plan.name = name;
  plan.owner = spec_.role;
  plan.tag = owner_tag(spec_.id);
  plan.golden = spec_.golden.name;
  plan.golden_owner = spec_.golden.role();
  plan.golden_mark = golden_mark(spec_.golden);
  plan.source = spec_.golden.source;
  plan.space = spec_.golden.space;
  return plan;
}

Result<Change> PostgresData::converge() {
  auto admin = connect();
  if (!admin) return admin.error();
  auto finding = look(*admin);
  if (!finding) return finding.error();
  if (finding->presence == Presence::foreign) return finding->problems.front();
  // What the server takes today is what a later remove() needs.
  const bool is_rotated = !spec_.former_url.empty() && spec_.former_url != spec_.golden.admin.url;
  if (auto kept = is_rotated ? keep_url() : Result<void>(); !kept) return kept.error();
  Change change{kind(), name(), Action::none, {}};
  if (finding->presence == Presence::present) return change;
  const auto golden = ensure_golden(spec_.golden, runner_);
  if (!golden) return golden.error();
  // Now, for from here on there is something to remove on this server.
  if (spec_.former_url.empty()) {
    if (auto kept = keep_url(); !kept) return kept.error();
  }
  const auto role = ensure_role(*admin, spec_.role, spec_.password, owner_tag(spec_.id));
  if (!role) return role.error();
  bool made_any = *role;
  for (const std::string& name : {spec_.database, spec_.test_database}) {
    const auto made = ensure_database(*admin, spec_.golden.admin, clone_plan(name));
    if (!made) return made.error();
    made_any = made_any || *made;
  }
  change.action = made_any ? Action::created : Action::updated;
  change.detail = "from the golden copy of " + golden->source + " of " + golden->made_at;
  return change;
}

Result<Change> PostgresData::remove() {
  auto admin = connect();
  if (!admin) return admin.error();
  Change change{kind(), name(), Action::none, {}};
  const std::string tag = owner_tag(spec_.id);
  // Asked first: a database without a tag is known as ours only by a role that is.
  const auto role = fetch_role(*admin, spec_.role);
  if (!role) return role.error();
  if (*role && (*role)->tag != tag) {
    return Error(ErrorKind::conflict, "the role " + spec_.role + " belongs to somebody else")
        .with_id("ownership_conflict");
  }
  for (const std::string& name : {spec_.test_database, spec_.database}) {
    const auto dropped = drop_database(*admin, name, tag, spec_.role);
    if (!dropped) return dropped.error();
    if (*dropped) change.action = Action::removed;
  }
  const auto dropped = drop_role(*admin, spec_.role, tag);
  if (!dropped) return dropped.error();
  if (*dropped) change.action = Action::removed;
  if (!spec_.kept_url.empty()) {
    if (auto removed = remove_file(spec_.kept_url); !removed) return removed.error();
  }
  return change;
}

Result<void> PostgresData::keep_url() const {
  if (spec_.kept_url.empty()) return {};
  if (auto ready = ensure_directory(spec_.kept_url.parent_path(), 0700); !ready) return ready;
  return write_file_atomically(spec_.kept_url, spec_.golden.admin.url, 0600);
}

}  // namespace hedge::worktree
