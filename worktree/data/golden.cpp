#include "worktree/data/golden.h"

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "worktree/data/pg_space.h"
#include "worktree/data/postgres_database.h"

namespace hedge::worktree {
namespace {

constexpr std::string_view kTagStart = "hedge:golden from=";
constexpr std::string_view kTagTime = " at=";
constexpr auto kSwapLimit = std::chrono::minutes(2);
constexpr auto kPause = std::chrono::milliseconds(200);

std::string tag_of(const GoldenSpec& spec, std::string_view at) {
  return golden_mark(spec) + std::string(at);
}

std::optional<GoldenFacts> parse_tag(std::string_view tag) {
  if (!tag.starts_with(kTagStart)) return std::nullopt;
  tag.remove_prefix(kTagStart.size());
  const auto time = tag.rfind(kTagTime);
  if (time == std::string_view::npos) return std::nullopt;
  return GoldenFacts{std::string(tag.substr(0, time)), std::string(tag.substr(time + kTagTime.size()))};
}

// The files of one refresh, gone with it.
class Scratch {
 public:
  explicit Scratch(const GoldenSpec& spec)
      : dump_(spec.scratch / (spec.name + ".dump")), list_(spec.scratch / (spec.name + ".list")) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    static_cast<void>(remove_file(dump_));
    static_cast<void>(remove_file(list_));
  }
  const std::filesystem::path& dump() const { return dump_; }
  const std::filesystem::path& list() const { return list_; }

 private:
  std::filesystem::path dump_;
  std::filesystem::path list_;
};

enum class LockWish { now, wait };

class Refresh {
 public:
  Refresh(const GoldenSpec& spec, CommandRunner& runner, PgConnection& admin)
      : spec_(spec),
        runner_(runner),
        admin_(admin),
        scratch_(spec),
        next_(spec.name + "_next"),
        previous_(spec.name + "_prev") {}

  // One refresh at a time on the whole server, as long as the connection lives.
  Result<void> lock(LockWish wish) {
    if (wish == LockWish::wait)
      return admin_.execute("SELECT pg_advisory_lock(hashtextextended($1, 0))", {lock_name()}, spec_.limit);
    const auto got = admin_.query("SELECT pg_try_advisory_lock(hashtextextended($1, 0))", {lock_name()});
    if (!got) return got.error();
    if (got->front()[0] == "t") return {};
    return Error(ErrorKind::busy, "another refresh of " + spec_.name + " is running").with_id("busy");
  }

  // Requires: the lock is held.
  Result<void> run() {
    if (next_.size() > kMaxPostgresNameBytes) {
      return Error(ErrorKind::invalid_input, "the golden copy's name is too long: " + spec_.name);
    }
    for (const std::string& name : {spec_.name, next_, previous_}) {
      if (auto allowed = require_ours(name); !allowed) return allowed;
    }
    if (auto ready = ensure_directory(spec_.scratch, 0700); !ready) return ready;
    if (auto dumped = dump(); !dumped) return dumped;
    if (auto role = ensure_golden_role(); !role) return role;
    if (auto made = make_next(); !made) return drop_next_after(std::move(made).error());
    if (auto filled = restore(); !filled) return drop_next_after(std::move(filled).error());
    return swap();
  }

 private:
  std::string lock_name() const { return "hedge golden " + spec_.name; }

  Result<void> require_ours(const std::string& name) {
    const auto facts = fetch_database(admin_, name);
    if (!facts) return facts.error();
    // Between its creation and its comment it can be told by its role, which nobody else has.
    if (!*facts || parse_tag((*facts)->tag) || (*facts)->owner == spec_.role()) return {};
    return Error(ErrorKind::conflict, "the database " + name + " is not a golden copy")
        .with_id("ownership_conflict");
  }

  // Connects as we did; the password travels in the environment, which only this user can read.
  Result<std::string> run_tool(std::vector<std::string> argv) const {
    CommandLine command;
    command.argv = std::move(argv);
    command.environment = spec_.environment;
    for (const auto& [name, value] : admin_.client_environment()) (*command.environment)[name] = value;
    (*command.environment)["LC_ALL"] = "C";
    command.limit = spec_.limit;
    auto output = runner_.run(command);
    const std::string& name = command.argv.front();
    if (!output && output.error().kind() == ErrorKind::not_found) {
      return Error(ErrorKind::not_found, name + " is not installed").with_id("pg_tools_missing");
    }
    if (!output) return output.error();
    if (output->ok()) return std::move(output->out);
    // PostgreSQL's programs have one exit code for everything; the system's own words are all there is.
    const bool is_full = output->err.find("No space left on device") != std::string::npos;
    return Error(is_full ? ErrorKind::no_space : ErrorKind::io, name + " failed: " + tail_of(output->err))
        .with_id(is_full ? "disk_full" : "golden_failed");
  }

  Result<void> dump() {
    const auto source = fetch_database(admin_, spec_.source);
    if (!source) return source.error();
    if (!*source) {
      return Error(ErrorKind::not_found, "the database " + spec_.source + " does not exist")
          .with_id("golden_source_missing");
    }
    if (auto room = require_space_for_copy(admin_, spec_.admin, spec_.source, spec_.space); !room) return room;
    // Subscriptions would make the copy take the original's changes away.
    const auto dumped =
        run_tool({"pg_dump", "-w", "-Fc", "--no-owner", "--no-subscriptions", "--no-publications",
                  "--no-security-labels", "-f", scratch_.dump().string(), "-d", spec_.source});
    if (!dumped) return dumped.error();
    return {};
  }

  // Leaves out what the golden role may not make: extensions and their schemas, which are there already, and
  // what only a superuser or another role can own.
  bool is_left_out(std::string_view line) const {
    for (const std::string_view kind :
         {" EXTENSION - ", " COMMENT - EXTENSION ", " EVENT TRIGGER ", " DEFAULT ACL "}) {
      if (line.find(kind) != std::string_view::npos) return true;
    }
    return std::any_of(schemas_.begin(), schemas_.end(), [line](const std::string& schema) {
      return line.find(" SCHEMA - " + schema + " ") != std::string_view::npos;
    });
  }

  Result<void> list_contents() {
    auto list = run_tool({"pg_restore", "-l", scratch_.dump().string()});
    if (!list) return list.error();
    std::string kept;
    for (const std::string_view line : split(*list, '\n')) {
      if (!is_left_out(line)) kept += std::string(line) + "\n";
    }
    return write_file_atomically(scratch_.list(), kept, 0600);
  }

  Result<void> ensure_golden_role() {
    const auto present = fetch_role(admin_, spec_.role());
    if (!present) return present.error();
    const std::string tag = "hedge:golden";
    const std::string role = quote_identifier(spec_.role());
    if (*present && (*present)->tag != tag) {
      return Error(ErrorKind::conflict, "the role " + spec_.role() + " belongs to somebody else")
          .with_id("ownership_conflict");
    }
    if (!*present) {
      auto done = admin_.execute("BEGIN");
      if (done) done = admin_.execute("CREATE ROLE " + role + " NOLOGIN");
      if (done) done = admin_.execute("COMMENT ON ROLE " + role + " IS " + quote_literal(tag));
      const auto ended = admin_.execute(done ? "COMMIT" : "ROLLBACK");
      if (!done) return done;
      if (!ended) return ended;
    }
    return act_for(admin_, spec_.role());
  }

  // Encoding and locale as the source has them. Source: PostgreSQL documentation, CREATE DATABASE and
  // pg_database.
  Result<std::string> likeness() {
    const int version = admin_.server_version();
    const std::string provider = version >= 150000 ? "datlocprovider" : "'c'";
    const std::string locale = version >= 170000 ? "datlocale" : version >= 150000 ? "daticulocale" : "NULL";
    const auto rows = admin_.query("SELECT pg_encoding_to_char(encoding), datcollate, datctype, " + provider +
                                       ", " + locale + " FROM pg_database WHERE datname = $1",
                                   {spec_.source});
    if (!rows) return rows.error();
    if (rows->empty())
      return Error(ErrorKind::not_found, "the database " + spec_.source + " is gone")
          .with_id("golden_source_missing");
    const PgRow& row = rows->front();
    std::string out = " ENCODING " + quote_literal(row[0].value_or("")) + " LC_COLLATE " +
                      quote_literal(row[1].value_or("")) + " LC_CTYPE " + quote_literal(row[2].value_or(""));
    if (row[3] == "i") out += " LOCALE_PROVIDER icu ICU_LOCALE " + quote_literal(row[4].value_or(""));
    if (row[3] == "b") out += " LOCALE_PROVIDER builtin BUILTIN_LOCALE " + quote_literal(row[4].value_or(""));
    return out;
  }

  Result<void> make_next() {
    const std::string next = quote_identifier(next_);
    if (auto done = drop(next_); !done) return done;
    const auto like = likeness();
    if (!like) return like.error();
    auto made = admin_.execute("CREATE DATABASE " + next + " OWNER " + quote_identifier(spec_.role()) +
                                   " TEMPLATE template0" + *like,
                               {}, kSwapLimit);
    if (!made) return made;
    if (auto done = admin_.execute("REVOKE ALL ON DATABASE " + next + " FROM PUBLIC"); !done) return done;
    return make_extensions();
  }

  Result<void> make_extensions() {
    PgTarget source = spec_.admin;
    source.database = spec_.source;
    auto from = PgConnection::connect(source);
    if (!from) return from.error();
    const auto extensions = from->query(
        "SELECT extname, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname "
        "<> 'plpgsql' "
        "ORDER BY pg_extension.oid");
    if (!extensions) return extensions.error();
    PgTarget target = spec_.admin;
    target.database = next_;
    auto into = PgConnection::connect(target);
    if (!into) return into.error();
    for (const PgRow& row : *extensions) {
      schemas_.push_back(row[1].value_or("public"));
      const std::string schema = quote_identifier(schemas_.back());
      const std::string owner = " AUTHORIZATION " + quote_identifier(spec_.role());
      if (auto made = into->execute("CREATE SCHEMA IF NOT EXISTS " + schema + owner); !made) return made;
      const std::string sql = "CREATE EXTENSION IF NOT EXISTS " + quote_identifier(row[0].value_or("")) +
                              " SCHEMA " + schema + " CASCADE";
      if (auto made = into->execute(sql, {}, kSwapLimit); !made) return made;
    }
    return {};
  }

  Result<void> restore() {
    if (auto listed = list_contents(); !listed) return listed;
    const auto restored =
        run_tool({"pg_restore", "-w", "--no-owner", "--role=" + spec_.role(), "--exit-on-error", "-L",
                  scratch_.list().string(), "-d", next_, scratch_.dump().string()});
    if (!restored) return restored.error();
    return {};
  }

  // The old copy stays until the new one is complete. Clones that are being made from it finish first, within
  // the limit.
  Result<void> swap() {
    const std::string next = quote_identifier(next_);
    // The role must not own a database, or a clone's REASSIGN OWNED would hand over the template too.
    if (auto done = admin_.execute("ALTER DATABASE " + next + " OWNER TO CURRENT_USER"); !done) return done;
    if (auto done = admin_.execute("COMMENT ON DATABASE " + next + " IS " +
                                   quote_literal(tag_of(spec_, format_utc(SystemClock().wall()))));
        !done) {
      return done;
    }
    if (auto done = admin_.execute("ALTER DATABASE " + next + " WITH ALLOW_CONNECTIONS false"); !done)
      return done;
    if (auto done = drop(previous_); !done) return done;
    const auto deadline = std::chrono::steady_clock::now() + kSwapLimit;
    while (true) {
      auto renamed = rename_both();
      if (renamed) return drop(previous_);
      // A clone that is being made from the old copy.
      if (renamed.error().kind() != ErrorKind::busy || std::chrono::steady_clock::now() >= deadline)
        return renamed;
      std::this_thread::sleep_for(kPause);
    }
  }

  Result<void> rename_both() {
    const auto old = fetch_database(admin_, spec_.name);
    if (!old) return old.error();
    const auto rename = [this](const std::string& from, const std::string& to) {
      return admin_.execute("ALTER DATABASE " + quote_identifier(from) + " RENAME TO " + quote_identifier(to),
                            {}, kSwapLimit);
    };
    auto done = admin_.execute("BEGIN");
    if (done && *old) done = rename(spec_.name, previous_);
    if (done) done = rename(next_, spec_.name);
    const auto ended = admin_.execute(done ? "COMMIT" : "ROLLBACK");
    return done ? ended : done;
  }

  Result<void> drop(const std::string& name) {
    return admin_.execute("DROP DATABASE IF EXISTS " + quote_identifier(name) + " WITH (FORCE)", {},
                          kSwapLimit);
  }

  Error drop_next_after(Error cause) {
    static_cast<void>(drop(next_));  // the first error is the cause, and is the one to tell
    return cause;
  }

  const GoldenSpec& spec_;
  CommandRunner& runner_;
  PgConnection& admin_;
  Scratch scratch_;
  std::string next_;
  std::string previous_;
  std::vector<std::string> schemas_;  // that extensions needed
};

}  // namespace

std::string golden_mark(const GoldenSpec& spec) {
  return std::string(kTagStart) + spec.source + std::string(kTagTime);
}

Result<std::optional<GoldenFacts>> fetch_golden(PgConnection& admin, const GoldenSpec& spec) {
  const auto facts = fetch_database(admin, spec.name);
  if (!facts) return facts.error();
  if (!*facts) return std::optional<GoldenFacts>();
  if (auto golden = parse_tag((*facts)->tag)) return golden;
  return Error(ErrorKind::conflict, "the database " + spec.name + " is not a golden copy")
      .with_id("ownership_conflict");
}

namespace {

// The configuration may name another source since, and another repository may use the same name.
bool is_copy_of_source(const Result<std::optional<GoldenFacts>>& golden, const GoldenSpec& spec) {
  return golden && *golden && (*golden)->source == spec.source;
}

}  // namespace

Result<GoldenFacts> ensure_golden(const GoldenSpec& spec, CommandRunner& runner) {
  auto admin = PgConnection::connect(spec.admin);
  if (!admin) return admin.error();
  auto golden = fetch_golden(*admin, spec);
  if (!golden) return golden.error();
  if (is_copy_of_source(golden, spec)) return std::move(**golden);
  Refresh refresh(spec, runner, *admin);
  if (auto locked = refresh.lock(LockWish::wait); !locked) return locked.error();
  golden = fetch_golden(*admin, spec);  // somebody else may have made it meanwhile
  if (golden && !is_copy_of_source(golden, spec)) {
    if (auto made = refresh.run(); !made)
      return std::move(made).error().with_context("make the golden copy " + spec.name);
    golden = fetch_golden(*admin, spec);
  }
  if (!golden) return golden.error();
  if (!*golden)
    return Error(ErrorKind::io, "the golden copy " + spec.name + " is gone again").with_id("golden_failed");
  return std::move(**golden);
}

Result<void> refresh_golden(const GoldenSpec& spec, CommandRunner& runner) {
  auto admin = PgConnection::connect(spec.admin);
  if (!admin) return admin.error();
  Refresh refresh(spec, runner, *admin);
  auto done = refresh.lock(LockWish::now);
  if (done) done = refresh.run();
  if (!done) return std::move(done).error().with_context("refresh the golden copy " + spec.name);
  return {};
}

}  // namespace hedge::worktree
