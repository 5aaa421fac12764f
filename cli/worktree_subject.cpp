#include "cli/worktree_subject.h"

#include "contract/assess.h"
#include "contract/worktree_lookup.h"

namespace hedge::cli {

Result<worktree::WorktreeRecord> find_worktree_record(Services& services, const std::string& branch) {
  const auto caller = services.directory();
  if (!caller) return caller.error();
  const auto manager = services.manager();
  if (!manager) return manager.error();
  const contract::Instruments& tools = (*manager)->instruments();
  auto located = worktree::locate(tools.git, tools.registry, *caller);
  if (!located) return located.error();
  return contract::find_record(tools, *located, branch);
}

Result<contract::Subject> find_worktree_subject(Services& services, const std::string& branch) {
  auto record = find_worktree_record(services, branch);
  if (!record) return record.error();
  const auto manager = services.manager();
  if (!manager) return manager.error();
  auto config = contract::load_config_of(record->path, record->main_checkout);
  if (!config) return config.error();
  return contract::make_subject((*manager)->instruments(), *record, std::move(*config), {}, worktree::ObserveMode::rehearsal);
}

}  // namespace hedge::cli
