// The plan: what a worktree will consist of, decided before anything is done.
#pragma once

#include <vector>

#include "base/result.h"
#include "worktree/git/git.h"
#include "worktree/ports.h"
#include "worktree/resource_kind.h"

namespace hedge::worktree {

struct Plan {
  std::vector<ResourceSpec> steps;  // in the order in which they are made
  Values values;                    // that templates may use
};

// A pure function of its input. Values are those of every kind and the worktree's own: `app.name`,
// `app.slug`, `app.id`, `app.branch`, `app.nonce`, `app.host`, `app.url`, `cookies.<kind>`, `port.<process>`,
// `worktree.path`; what the caller gives outranks them.
Result<Plan> make_plan(const ResourceKinds& kinds, const PlanInput& input);

// The configured rules for names, and the names of a record under them.
NameRules name_rules(const config::ProjectConfig& config);
WorktreeNames names_of(const WorktreeRecord& record, const config::ProjectConfig& config);

// A rehearsal records no port.
enum class ObserveMode { real, rehearsal };
// What planning needs to know of the world. The worktree's own checkout need not exist yet.
Result<Observed> observe(Git& git, Ports& ports, const WorktreeRecord& record,
                         const config::ProjectConfig& config, ObserveMode mode);

}  // namespace hedge::worktree
