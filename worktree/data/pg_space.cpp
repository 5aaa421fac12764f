#include "worktree/data/pg_space.h"

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace {

bool is_this_machine(const PgTarget& target) {
  const std::string host = address_of(target.url).host;
  return host.empty() || host.starts_with('/') || host == "localhost" || host == "127.0.0.1" || host == "::1";
}

}  // namespace

Result<void> require_space_for_copy(PgConnection& admin, const PgTarget& target, const std::string& database,
                                    const SpaceProbe& probe) {
  if (!is_this_machine(target)) return {};
  // Only some roles are shown the directory, and only some may ask for a database's size.
  const auto rows = admin.query(
      "SELECT s.setting, CASE WHEN has_database_privilege(d.oid, 'CONNECT') OR "
      "pg_has_role('pg_read_all_stats', 'USAGE') THEN pg_database_size(d.oid) END "
      "FROM pg_settings s, pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace "
      "WHERE s.name = 'data_directory' AND d.datname = $1 AND t.spcname = 'pg_default'",
      {database});
  if (!rows) return rows.error();
  if (rows->empty() || !rows->front()[0] || !rows->front()[1]) return {};
  const std::filesystem::path directory(*rows->front()[0]);
  // A server in a container has its own idea of where that is.
  if (!path_exists(directory)) return {};
  const auto bytes = parse_number<std::uint64_t>(*rows->front()[1]);
  if (!bytes) return {};
  return require_space(probe, directory, *bytes, "a copy of the database " + database);
}

}  // namespace hedge::worktree
