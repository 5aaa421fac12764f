// Wires the manager: state, git, the kinds of resources and the life cycle, for the verbs that need them.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/subprocess.h"
#include "config/paths.h"
#include "contract/instruments.h"
#include "router/route_store.h"
#include "worktree/commands/held_runner.h"
#include "worktree/git/git.h"
#include "worktree/ledger.h"
#include "worktree/lifecycle.h"
#include "worktree/ports.h"
#include "worktree/registry.h"
#include "worktree/stack/stack_kind.h"
#include "worktree/state_database.h"
#include "worktree/worktree_locks.h"

namespace hedge::cli {

class Services;

class Manager {
 public:
  // Opens (and makes) the state. Errors: `state_unreadable`, `disk_full`.
  // Lifetime: `services` outlives the manager.
  static Result<std::unique_ptr<Manager>> open(Services& services);
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  const contract::Instruments& instruments() const { return instruments_; }
  worktree::Git& git() { return git_; }
  worktree::Registry& registry() { return registry_; }
  worktree::Lifecycle& lifecycle() { return lifecycle_; }
  const worktree::WorktreeLocks& locks() const { return locks_; }

 private:
  Manager(Services& services, config::Paths paths, worktree::StateDatabase state, router::RouteStore& routes,
          const worktree::StackSetup& setup);
  void add_kinds(Services& services, router::RouteStore& routes, const worktree::StackSetup& setup);

  const config::Paths paths_;
  worktree::StateDatabase state_;
  worktree::Registry registry_;
  worktree::Ledger ledger_;
  worktree::Ports ports_;
  worktree::Git git_;
  worktree::HeldRunner commands_;  // for what may run long; git has a lock of its own
  worktree::WorktreeLocks locks_;
  worktree::StackKind stacks_;  // for wrappers; the plan's own is one of kinds_
  worktree::ResourceKinds kinds_;
  contract::StepNarrator narrator_;
  worktree::Lifecycle lifecycle_;
  contract::Instruments instruments_;
};

}  // namespace hedge::cli
