#include "worktree/data/postgres_database.h"

#include <algorithm>

#include "base/text.h"
#include "worktree/data/pg_space.h"

namespace hedge::worktree {
namespace {

constexpr auto kCloneLimit = std::chrono::minutes(30);

bool is_true(const std::optional<std::string>& value) {
  return value && *value == "t";
}

Error conflict(std::string_view what, const std::string& name, const std::string& tag) {
  return Error(ErrorKind::conflict, "the " + std::string(what) + " " + name + " belongs to " +
                                        (tag.empty() ? std::string("somebody else") : printable(tag)))
      .with_id("ownership_conflict");
}

Result<void> require_name(const std::string& name) {
  if (!name.empty() && name.size() <= kMaxPostgresNameBytes && name.find('\0') == std::string::npos)
    return {};
  return Error(ErrorKind::invalid_input, "not a name for PostgreSQL: " + printable(name) + " (1 to " +
                                             std::to_string(kMaxPostgresNameBytes) + " bytes)");
}

std::string join_quoted(const std::string& dotted) {
  std::string out;
  for (const std::string_view part : split(dotted, '.'))
    out += (out.empty() ? "" : ".") + quote_identifier(part);
  return out;
}

// One transaction per setting: the value is set as a parameter and stored from there, so that lists keep
// their quoting.
Result<void> apply_setting(PgConnection& admin, const std::string& subject, const std::string& name,
                           const std::string& value) {
  if (auto begun = admin.execute("BEGIN"); !begun) return begun;
  auto done = admin.execute("SELECT set_config($1, $2, true)", {name, value});
  if (done) done = admin.execute("ALTER " + subject + " SET " + join_quoted(name) + " FROM CURRENT");
  const auto ended = admin.execute(done ? "COMMIT" : "ROLLBACK");
  if (!done) return std::move(done).error().with_context("re-apply the setting " + name);
  return ended;
}

// ALTER DATABASE … SET and ALTER ROLE … IN DATABASE … SET: a template gives neither. The source's owner
// becomes ours.
Result<void> apply_settings(PgConnection& admin, const ClonePlan& plan) {
  const auto rows = admin.query(
      "SELECT CASE WHEN s.setrole = 0 THEN NULL WHEN s.setrole = d.datdba THEN $2 ELSE "
      "s.setrole::regrole::text END, "
      "split_part(c.setting, '=', 1), substr(c.setting, strpos(c.setting, '=') + 1), s.setrole = d.datdba "
      "FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase, unnest(s.setconfig) AS "
      "c(setting) "
      "WHERE d.datname = $1",
      {plan.source, plan.owner});
  if (!rows) return rows.error();
  for (const PgRow& row : *rows) {
    std::string subject = "DATABASE " + quote_identifier(plan.name);
    if (row[0]) {
      // regrole gives the name quoted where it has to be.
      const std::string role = is_true(row[3]) ? quote_identifier(*row[0]) : *row[0];
      subject = "ROLE " + role + " IN " + subject;
    }
    if (auto applied = apply_setting(admin, subject, row[1].value_or(""), row[2].value_or("")); !applied)
      return applied;
  }
  return {};
}

// What the source grants to roles other than its owner and PUBLIC.
Result<void> apply_grants(PgConnection& admin, const ClonePlan& plan) {
  const auto rows = admin.query(
      "SELECT a.privilege_type, a.grantee::regrole::text, a.is_grantable FROM pg_database d, "
      "aclexplode(d.datacl) a "
      "WHERE d.datname = $1 AND a.grantee <> 0 AND a.grantee <> d.datdba",
      {plan.source});
  if (!rows) return rows.error();
  for (const PgRow& row : *rows) {
    // The privilege's name and the quoted role come from the server's own catalogue.
    const std::string sql = "GRANT " + row[0].value_or("") + " ON DATABASE " + quote_identifier(plan.name) +
                            " TO " + row[1].value_or("") + (is_true(row[2]) ? " WITH GRANT OPTION" : "");
    if (auto granted = admin.execute(sql); !granted) return granted;
  }
  return {};
}

// Inside the clone: what the golden copy's role owns becomes the worktree's. The golden role owns nothing
// else on the server, so that nothing outside this database changes hands.
Result<void> take_over_objects(const PgTarget& target, const ClonePlan& plan) {
  PgTarget inside = target;
  inside.database = plan.name;
  auto connection = PgConnection::connect(inside);
  if (!connection) return std::move(connection).error().with_context("take over " + plan.name);
  if (!plan.golden_owner.empty()) {
    const std::string sql =
        "REASSIGN OWNED BY " + quote_identifier(plan.golden_owner) + " TO " + quote_identifier(plan.owner);
    if (auto done = connection->execute(sql, {}, kCloneLimit); !done) return done;
  }
  // Since PostgreSQL 15 only the database's owner may create in public; before, everybody. Both get ours.
  return connection->execute(
      "DO $$ BEGIN IF to_regnamespace('public') IS NOT NULL THEN EXECUTE format('GRANT ALL ON SCHEMA "
      "public TO %I', " +
      quote_literal(plan.owner) + "); END IF; END $$");
}

Result<void> create(PgConnection& admin, const PgTarget& target, const ClonePlan& plan) {
  if (!plan.golden.empty()) {
    if (auto room = require_space_for_copy(admin, target, plan.golden, plan.space); !room) return room;
  }
  const std::string origin = plan.golden.empty() ? "template0" : plan.golden;
  return admin.execute("CREATE DATABASE " + quote_identifier(plan.name) + " OWNER " +
                           quote_identifier(plan.owner) + " TEMPLATE " + quote_identifier(origin),
                       {}, kCloneLimit);
}

// Asked when the copy is made: by its name alone, the template may have become one of another source just before.
Result<void> require_right_template(PgConnection& admin, const ClonePlan& plan) {
  if (plan.golden_mark.empty()) return {};
  const auto facts = fetch_database(admin, plan.golden);
  if (!facts) return facts.error();
  if (*facts && (*facts)->tag.starts_with(plan.golden_mark)) return {};
  return Error(ErrorKind::busy,
               "the golden copy " + plan.golden + " was made anew from another database meanwhile")
      .with_id("busy");
}

// Everything after CREATE DATABASE; each step may be repeated.
Result<void> finish(PgConnection& admin, const PgTarget& target, const ClonePlan& plan) {
  const std::string name = quote_identifier(plan.name);
  if (auto done = admin.execute("REVOKE ALL ON DATABASE " + name + " FROM PUBLIC"); !done) return done;
  if (auto done = admin.execute("ALTER DATABASE " + name + " OWNER TO " + quote_identifier(plan.owner));
      !done)
    return done;
  if (auto done = take_over_objects(target, plan); !done) return done;
  if (!plan.source.empty()) {
    if (auto done = apply_settings(admin, plan); !done) return done;
    if (auto done = apply_grants(admin, plan); !done) return done;
  }
  return admin.execute("COMMENT ON DATABASE " + name + " IS " + quote_literal(plan.tag));
}

// Half-made: made for our role (which carries the tag), and not yet tagged itself.
bool is_half_made(const DatabaseFacts& facts, const std::string& owner) {
  return facts.tag.empty() && facts.owner == owner;
}

}  // namespace

std::string owner_tag(std::string_view worktree_id) {
  return "hedge:" + std::string(worktree_id);
}

Result<std::optional<DatabaseFacts>> fetch_database(PgConnection& admin, const std::string& name) {
  const auto rows = admin.query(
      "SELECT pg_get_userbyid(datdba), COALESCE(shobj_description(oid, 'pg_database'), ''), datallowconn, "
      "COALESCE((SELECT bool_or(privilege_type = 'CONNECT') FROM aclexplode(COALESCE(datacl, acldefault('d', "
      "datdba))) "
      "WHERE grantee = 0), false) FROM pg_database WHERE datname = $1",
      {name});
  if (!rows) return rows.error();
  if (rows->empty()) return std::optional<DatabaseFacts>();
  const PgRow& row = rows->front();
  return std::optional<DatabaseFacts>(
      DatabaseFacts{row[0].value_or(""), row[1].value_or(""), is_true(row[3]), is_true(row[2])});
}

Result<std::optional<RoleFacts>> fetch_role(PgConnection& admin, const std::string& name) {
  const auto rows = admin.query(
      "SELECT COALESCE(shobj_description(oid, 'pg_authid'), '') FROM pg_roles WHERE rolname = $1", {name});
  if (!rows) return rows.error();
  if (rows->empty()) return std::optional<RoleFacts>();
  return std::optional<RoleFacts>(RoleFacts{rows->front()[0].value_or("")});
}

Result<void> act_for(PgConnection& admin, const std::string& role) {
  const auto super = admin.query("SELECT rolsuper FROM pg_roles WHERE rolname = current_user");
  if (!super) return super.error();
  if (!super->empty() && is_true(super->front()[0])) return {};
  return admin.execute("GRANT " + quote_identifier(role) + " TO CURRENT_USER");
}

Result<bool> ensure_role(PgConnection& admin, const std::string& name, const std::string& password,
                         const std::string& tag) {
  if (auto valid = require_name(name); !valid) return valid.error();
  const auto present = fetch_role(admin, name);
  if (!present) return present.error();
  if (*present && (*present)->tag != tag) return conflict("role", name, (*present)->tag);
  const auto stored = admin.encrypt_password(name, password);
  if (!stored) return stored.error();
  const std::string role = quote_identifier(name);
  const std::string attributes =
      " LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD " + quote_literal(*stored);
  if (*present) {
    if (auto changed = admin.execute("ALTER ROLE " + role + attributes); !changed) return changed.error();
    if (auto member = act_for(admin, name); !member) return member.error();
    return false;
  }
  // In one transaction: a role of our name without our tag is always somebody else's.
  auto done = admin.execute("BEGIN");
  if (!done) return done.error();
  done = admin.execute("CREATE ROLE " + role + attributes);
  if (done) done = admin.execute("COMMENT ON ROLE " + role + " IS " + quote_literal(tag));
  const auto ended = admin.execute(done ? "COMMIT" : "ROLLBACK");
  if (!done) return done.error();
  if (!ended) return ended.error();
  if (auto member = act_for(admin, name); !member) return member.error();
  return true;
}

Result<bool> ensure_database(PgConnection& admin, const PgTarget& target, const ClonePlan& plan) {
  if (auto valid = require_name(plan.name); !valid) return valid.error();
  auto present = fetch_database(admin, plan.name);
  if (!present) return present.error();
  if (*present) {
    if ((*present)->tag != plan.tag && !is_half_made(**present, plan.owner)) {
      return conflict("database", plan.name, (*present)->tag);
    }
    if ((*present)->tag == plan.tag && (*present)->owner == plan.owner && !(*present)->public_may_connect)
      return false;
  } else if (auto made = create(admin, target, plan); !made) {
    return std::move(made).error().with_context("create database " + plan.name);
  }
  auto finished = *present ? Result<void>() : require_right_template(admin, plan);
  const bool is_anothers = !finished;
  if (!is_anothers) finished = finish(admin, target, plan);
  if (finished) return true;
  // A copy for which the disk is too small is worth nothing, and it is what fills the disk; nor is one of
  // another's data.
  const bool is_worthless = is_anothers || finished.error().kind() == ErrorKind::no_space;
  if (!*present && is_worthless) {
    const auto dropped = drop_database(admin, plan.name, plan.tag, plan.owner);
    static_cast<void>(dropped);  // the first error is the cause, and is the one to tell
  }
  return std::move(finished).error().with_context("set up database " + plan.name);
}

Result<bool> drop_database(PgConnection& admin, const std::string& name, const std::string& tag,
                           const std::string& owner) {
  const auto present = fetch_database(admin, name);
  if (!present) return present.error();
  if (!*present) return false;
  if ((*present)->tag != tag && !is_half_made(**present, owner))
    return conflict("database", name, (*present)->tag);
  auto dropped =
      admin.execute("DROP DATABASE " + quote_identifier(name) + " WITH (FORCE)", {}, std::chrono::minutes(2));
  if (!dropped) return std::move(dropped).error().with_context("drop database " + name);
  return true;
}

Result<bool> drop_role(PgConnection& admin, const std::string& name, const std::string& tag) {
  const auto present = fetch_role(admin, name);
  if (!present) return present.error();
  if (!*present) return false;
  if ((*present)->tag != tag) return conflict("role", name, (*present)->tag);
  // Sessions of the role end first: what they hold would otherwise outlive its name.
  if (auto ended =
          admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", {name});
      !ended) {
    return ended.error();
  }
  auto dropped = admin.execute("DROP ROLE " + quote_identifier(name));
  if (!dropped) return std::move(dropped).error().with_context("drop role " + name);
  return true;
}

Result<ConnectionUse> fetch_connection_use(PgConnection& admin) {
  const auto limits = admin.query(
      "SELECT current_setting('max_connections')::int - "
      "current_setting('superuser_reserved_connections')::int, "
      "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')");
  if (!limits) return limits.error();
  const auto holders = admin.query(
      "SELECT COALESCE(datname, '-'), count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
      "AND pid <> pg_backend_pid() GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5");
  if (!holders) return holders.error();
  ConnectionUse use;
  const PgRow& row = limits->front();
  use.available = parse_number<int>(row[0].value_or("0")).value_or(0);
  use.taken = parse_number<int>(row[1].value_or("0")).value_or(0);
  for (const PgRow& holder : *holders) {
    use.holders += (use.holders.empty() ? "" : ", ") + holder[0].value_or("") + " " + holder[1].value_or("");
  }
  return use;
}

}  // namespace hedge::worktree
