// What the resources of a plan, the edge and the registry say, looked at once, so that most requirements are pure functions.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "contract/instruments.h"
#include "contract/requirement.h"
#include "contract/subject.h"
#include "router/edge_client.h"

namespace hedge::contract {

struct ObservedResource {
  worktree::ResourceSpec spec;
  Result<worktree::Finding> finding;
};

struct Observations {
  std::vector<ObservedResource> resources;  // in the plan's order
  Result<router::EdgeStatus> edge;
  Result<std::vector<worktree::WorktreeRecord>> records;  // of every worktree on this machine
};

// Asks every resource of the plan side by side. Changes nothing.
Observations observe(const Instruments& tools, const Subject& subject);

// The observed resources of a kind, in the plan's order.
std::vector<const ObservedResource*> resources_of(const Observations& observations, std::string_view kind);

// present: pass. missing, differs: fail, with the finding's own problem or `missing_id`. foreign: fail with its problem.
// unknown: unknown. An error of the check itself: unknown.
CheckOutcome outcome_of(const ObservedResource& resource, std::string_view missing_id);

}  // namespace hedge::contract
