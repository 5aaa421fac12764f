// The worktree that a verb is about: its record, its configuration and the plan that follows from them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "config/project_config.h"
#include "contract/instruments.h"
#include "contract/provider.h"
#include "contract/result.h"
#include "worktree/git/checkout_info.h"
#include "worktree/plan.h"

namespace hedge::contract {

struct Subject {
  worktree::CheckoutInfo checkout;  // as git sees it now; empty paths if the checkout does not exist yet
  worktree::WorktreeRecord record;
  config::ProjectConfig config;
  worktree::WorktreeNames names;
  worktree::Observed observed;
  worktree::Plan plan;
  Evidence evidence;
  ProviderDecision provider;
  // The stack was brought up a moment ago, and nobody has waited for the application as a process stack does: so long
  // it may take until it listens.
  std::chrono::milliseconds start_limit{0};
};

// What is asked for on the command line and bears on the provider.
struct ProviderOptions {
  std::optional<std::string> provider;
};

// Errors: those of the configuration, of the provider and of planning.
Result<Subject> make_subject(const Instruments& tools, const worktree::WorktreeRecord& record, config::ProjectConfig config,
                             const ProviderOptions& options, worktree::ObserveMode mode);

// After a run that brought the stack up: see Subject::start_limit.
void expect_start(Subject& subject);

WorkspaceFacts workspace_facts(const Subject& subject);
// Of a worktree whose configuration cannot be read: what the record knows.
WorkspaceFacts workspace_facts(const worktree::WorktreeRecord& record);
AppFacts app_facts(const Subject& subject);
std::optional<DatabaseFacts> database_facts(const Subject& subject);
}  // namespace hedge::contract
