// "database" as a kind of resource: SQLite files or PostgreSQL databases, as hedge.toml says.
#pragma once

#include <string>
#include <vector>

#include "base/subprocess.h"
#include "config/paths.h"
#include "worktree/data/golden.h"
#include "worktree/resource_kind.h"

namespace hedge::worktree {

// Publishes database.url, database.direct_url, database.name, database.test_url, database.test_name. URLs of
// PostgreSQL hold
// `{secret.postgres}` for the password.
class DatabaseKind final : public ResourceKind {
 public:
  // Lifetime: `runner` and `paths` outlive the kind and what it makes. `environment`: the caller's.
  DatabaseKind(Environment environment, const config::Paths& paths, CommandRunner& runner);

  std::string kind() const override { return "database"; }
  void publish(const PlanInput& input, Values& values) const override;
  Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const override;
  bool is_same_thing(const ResourceSpec& recorded, const ResourceSpec& wanted) const override;
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                         const WorktreeRecord& record) const override;

 private:
  Environment environment_;
  const config::Paths& paths_;
  CommandRunner& runner_;
};

// For `hedge golden refresh|status`. Requires: engine postgres; `app` is the app's part of names.
GoldenSpec golden_of(const config::ProjectConfig& config, const std::string& app,
                     const Environment& environment, const config::Paths& paths);

}  // namespace hedge::worktree
