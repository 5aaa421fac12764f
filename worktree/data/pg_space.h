// Whether a PostgreSQL server has room for a copy of one of its databases.
#pragma once

#include <string>

#include "base/result.h"
#include "worktree/data/pg_connection.h"
#include "worktree/free_space.h"

namespace hedge::worktree {

// Looks where it can: on a server of this machine that tells its data directory, for a database in the default
// tablespace. Anywhere else the server itself has the last word. Errors: no_space `disk_full`; unavailable.
Result<void> require_space_for_copy(PgConnection& admin, const PgTarget& target, const std::string& database,
                                    const SpaceProbe& probe = free_bytes);

}  // namespace hedge::worktree
