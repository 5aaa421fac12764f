// What the contract works with. Wired in cli/services; everything outlives it.
#pragma once

#include "base/clock.h"
#include "base/subprocess.h"
#include "config/paths.h"
#include "contract/step_narrator.h"
#include "router/route_store.h"
#include "worktree/lifecycle.h"

namespace hedge::contract {

struct Instruments {
  const config::Paths& paths;
  const Environment& environment;  // the caller's
  const Clock& clock;
  CommandRunner& runner;  // stateless: used by checks that run side by side
  worktree::Git& git;     // likewise
  worktree::Registry& registry;
  worktree::Ledger& ledger;
  worktree::Lifecycle& lifecycle;
  const worktree::ResourceKinds& kinds;
  router::RouteStore& routes;
  StepNarrator& narrator;
};

}  // namespace hedge::contract
