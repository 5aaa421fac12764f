// hedge verify: is this worktree ready? Changes nothing.
#include "contract/assess.h"
#include "contract/stopwatch.h"
#include "contract/verbs.h"
#include "contract/worktree_lookup.h"

namespace hedge::contract {
namespace {

// A checkout that Hedge did not make, or has not been told of: there is nothing to check yet, and one thing to do.
void describe_unregistered(const worktree::Located& located, ContractResult& result) {
  WorkspaceFacts facts;
  facts.path = located.checkout.top.string();
  facts.kind = located.checkout.kind == worktree::WorktreeKind::main ? "main" : "worktree";
  if (!located.checkout.branch.empty()) facts.branch = located.checkout.branch;
  if (!located.checkout.head.empty()) facts.head = located.checkout.head;
  result.workspace = std::move(facts);
  CheckResult check;
  check.id = "git.checkout";
  check.title = "the checkout is registered";
  check.status = CheckStatus::fail;
  check.can_be_made = true;
  const auto refusal = worktree::require_initialized(located);
  if (!refusal) describe_failure(check, refusal.error());
  if (located.checkout.kind == worktree::WorktreeKind::main && check.remediation) check.remediation->command = "hedge create";
  result.checks.push_back(std::move(check));
  conclude(result);
}

Result<void> verify_into(const Instruments& tools, const std::filesystem::path& caller, const VerifyOptions& options,
                         ContractResult& result) {
  auto located = worktree::locate(tools.git, tools.registry, caller);
  if (!located) return located.error();
  if (options.branch.empty() && !located->record) {
    describe_unregistered(*located, result);
    return {};
  }
  auto record = find_record(tools, *located, options.branch);
  if (!record) return record.error();
  result.workspace = workspace_facts(*record);
  auto config = load_config_of(record->path, record->main_checkout);
  if (!config) return config.error();
  auto subject = make_subject(tools, *record, std::move(*config), {}, worktree::ObserveMode::rehearsal);
  if (!subject) return subject.error();
  assess(tools, *subject, options.strictness, result);
  return {};
}

}  // namespace

ContractResult verify(const Instruments& tools, const std::filesystem::path& caller, const VerifyOptions& options,
                      std::string command) {
  ContractResult result;
  result.command = std::move(command);
  const Stopwatch watch(tools.clock);
  if (auto done = verify_into(tools, caller, options, result); !done) fail_with(result, done.error());
  result.duration = watch.elapsed();
  return result;
}

}  // namespace hedge::contract
