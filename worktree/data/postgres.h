// A worktree's share of a PostgreSQL server: a role of its own, and its two databases.
#pragma once

#include <string>
#include <vector>

#include "base/subprocess.h"
#include "worktree/data/golden.h"
#include "worktree/data/postgres_database.h"
#include "worktree/resource.h"

namespace hedge::worktree {

struct PostgresSpec {
  std::string id;
  std::string role;
  std::string password;
  std::string database;
  std::string test_database;
  // Where the administrator's URL is kept (0600) for a later remove() from another shell; empty: it is
  // configured for all.
  std::filesystem::path kept_url;
  std::string former_url;    // what is in there. Empty: nothing is
  std::vector<std::string> other_urls;  // of the same server, tried in turn where it refuses the first
  std::string other_server;  // that the caller names now, though they were made elsewhere; empty: none
  GoldenSpec golden;
};

// check(): missing, differs (one of the parts is missing or not as it should be), foreign
// `ownership_conflict`, `database_server_changed`, unknown (the server is down). converge(): makes the golden copy if there is none.
// remove(): the golden copy stays.
class PostgresData final : public Resource {
 public:
  PostgresData(PostgresSpec spec, CommandRunner& runner);

  std::string kind() const override { return "database"; }
  std::string name() const override { return spec_.database; }
  bool holds_work() const override { return true; }
  Result<Finding> check() override;
  Result<Change> converge() override;
  Result<Change> remove() override;

 private:
  Result<PgConnection> connect();
  Result<Finding> look(PgConnection& admin);
  Result<void> look_at_database(PgConnection& admin, const std::string& name, Finding& finding);
  Result<void> try_as_application(PgConnection& admin, Finding& finding);
  Result<void> keep_url() const;
  ClonePlan clone_plan(const std::string& name) const;
  PostgresSpec spec_;
  CommandRunner& runner_;
};

}  // namespace hedge::worktree
