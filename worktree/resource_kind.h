// A kind of resource: how it is planned from the configuration, and how it is rebuilt from the ledger without
// it. A new kind is one file and one line in cli/services.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/paths.h"
#include "worktree/names.h"
#include "worktree/record.h"
#include "worktree/resource.h"
#include "worktree/value_text.h"

namespace hedge::config {
struct ProjectConfig;
}

namespace hedge::worktree {

// One step of a plan and one entry of the ledger: enough to rebuild the Resource with nothing but the
// worktree's record. It is printed by --dry-run and stored, so it holds no secret.
struct ResourceSpec {
  std::string kind;
  std::string name;  // unique within its kind and worktree
  std::string parameters =
      "{}";  // a JSON object; paths inside the worktree are relative to it, because it may move
};

// What templates such as {database.url} expand to.
using Values = std::map<std::string, ValueText>;

// What was looked at before planning. Collected by Lifecycle::observe(); kinds look at nothing else.
struct Observed {
  std::vector<std::string>
      changed_paths;  // that differ from the merge base with main's branch, or in the working tree
  std::map<std::string, std::uint16_t>
      ports;                            // of the configured processes, by their name; allocated and recorded
  std::vector<std::string> seed_paths;  // configured ones that the main checkout has and git ignores
  std::vector<std::string> included_files;  // ignored files that the include file names
  Values given;                             // what only the caller knows: "ca.root", "ca.bundle", "app.url"
};

struct PlanInput {
  const WorktreeRecord& record;
  const WorktreeNames& names;
  const config::ProjectConfig& config;
  const config::Paths& paths;
  const Observed& observed;
};

class ResourceKind {
 public:
  virtual ~ResourceKind() = default;
  virtual std::string kind() const = 0;
  // Adds the values that this kind offers to templates. Pure.
  virtual void publish(const PlanInput& input, Values& values) const = 0;
  // The steps of this kind, in their order; empty if the configuration wants none. Pure. `values` are those
  // of all kinds.
  virtual Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const = 0;
  // False, if what the ledger has under the name of `wanted` is another thing, which has to be removed before
  // `wanted` is made: processes where containers are wanted now. Requires: both have this kind and one name.
  virtual bool is_same_thing(const ResourceSpec& recorded, const ResourceSpec& wanted) const;
  // Errors: corrupt, if `spec` cannot be understood.
  virtual Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                                 const WorktreeRecord& record) const = 0;
};

// The kinds in the order in which their resources are made: checkout, seed, env, database, pooler, redis,
// queue, stack, route.
class ResourceKinds {
 public:
  void add(std::unique_ptr<ResourceKind> kind) { kinds_.push_back(std::move(kind)); }
  const std::vector<std::unique_ptr<ResourceKind>>& in_order() const { return kinds_; }
  // As ResourceKind's; true, if no such kind is known.
  bool is_same_thing(const ResourceSpec& recorded, const ResourceSpec& wanted) const;
  // Errors: corrupt `state_unreadable`, if no such kind is known (the ledger was written by another version).
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec, const WorktreeRecord& record) const;

 private:
  std::vector<std::unique_ptr<ResourceKind>> kinds_;
};

// Expands {name} from `values`; {secret.NAME} becomes a secret of that purpose; {{ and }} are braces. What a value holds is
// not looked at again.
// Errors: invalid_input `template_unknown`, naming the placeholder and the known ones.
Result<ValueText> expand_template(std::string_view text, const Values& values);

}  // namespace hedge::worktree
