// What the contract works with. Wired in cli/services; everything outlives it.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/subprocess.h"
#include "config/paths.h"
#include "contract/step_narrator.h"
#include "router/route_store.h"
#include "worktree/lifecycle.h"
#include "worktree/ports.h"

namespace hedge::contract {

struct Instruments {
  const config::Paths& paths;
  const Environment& environment;  // the caller's
  const Clock& clock;
  CommandRunner& runner;  // stateless: used by checks that run side by side
  worktree::Git& git;     // likewise
  worktree::Registry& registry;
  worktree::Ledger& ledger;
  worktree::Ports& ports;
  worktree::Lifecycle& lifecycle;
  const worktree::ResourceKinds& kinds;
  const worktree::ResourceKind& stacks;  // the one of them that makes stacks
  const worktree::WorktreeLocks& locks;
  router::RouteStore& routes;
  StepNarrator& narrator;
  // Makes the local certificate authority and the files of trust, if they are not there. Only create and up call it.
  std::function<Result<void>()> ensure_authority;
};

}  // namespace hedge::contract
