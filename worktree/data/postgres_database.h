// Databases of one server: made from a golden copy, tagged with their owner, never taken from somebody else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "worktree/data/pg_connection.h"
#include "worktree/free_space.h"

namespace hedge::worktree {

inline constexpr std::size_t kMaxPostgresNameBytes =
    63;  // longer ones are cut by the server, with a notice only

// "hedge:<worktree id>": the COMMENT of what a worktree owns.
std::string owner_tag(std::string_view worktree_id);

struct DatabaseFacts {
  std::string owner;
  std::string tag;  // its COMMENT, or empty
  bool public_may_connect = true;
  bool allows_connections = true;
};
Result<std::optional<DatabaseFacts>> fetch_database(PgConnection& admin, const std::string& name);

struct RoleFacts {
  std::string tag;
};
Result<std::optional<RoleFacts>> fetch_role(PgConnection& admin, const std::string& name);

// A role that may log in and nothing more. An existing one with our tag gets the password. False: it was
// there. Errors: conflict `ownership_conflict`.
Result<bool> ensure_role(PgConnection& admin, const std::string& name, const std::string& password,
                         const std::string& tag);

// Lets the administrator act for `role`, where it is no superuser, which may anyway.
Result<void> act_for(PgConnection& admin, const std::string& role);

struct ClonePlan {
  std::string name;
  std::string owner;  // the role
  std::string tag;
  std::string golden;        // template; empty: an empty database
  std::string golden_owner;  // the role that owns the objects in it
  std::string golden_mark;   // what its comment begins with, or it is another's by now; empty: it may be any
  std::string source;        // whose settings and ACL are re-applied; empty: none
  SpaceProbe space = free_bytes;
};
// Makes the database or finishes one that a killed run left half-made. The tag is written last. False: it was
// there, complete. Errors: conflict `ownership_conflict`; busy (the template was replaced by another meanwhile);
// no_space `disk_full`; see PgConnection::query(). After those two nothing half-made is left.
Result<bool> ensure_database(PgConnection& admin, const PgTarget& target, const ClonePlan& plan);

// Only if it carries `tag`, or is the half-made one of `owner`. False: it was not there.
// Errors: conflict `ownership_conflict`.
Result<bool> drop_database(PgConnection& admin, const std::string& name, const std::string& tag,
                           const std::string& owner);
Result<bool> drop_role(PgConnection& admin, const std::string& name, const std::string& tag);

struct ConnectionUse {
  int available = 0;  // to roles without reserved places
  int taken = 0;
  std::string holders;  // "shop_beta 57, shop 2": databases and connections, the greatest five
};
Result<ConnectionUse> fetch_connection_use(PgConnection& admin);

}  // namespace hedge::worktree
