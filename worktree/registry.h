// Which worktrees exist on this machine, under which names. Every change is one transaction; names are unique
// machine-wide.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "worktree/names.h"
#include "worktree/record.h"
#include "worktree/state_database.h"

namespace hedge::worktree {

// What is known of a worktree before it is born.
struct Birth {
  WorktreeKind kind = WorktreeKind::linked;
  std::string app;
  std::string branch;
  std::string instance;
  BranchOrigin branch_origin = BranchOrigin::existing;
  std::string upstream;
  std::string base;
  std::filesystem::path repository;
  std::filesystem::path main_checkout;
  std::filesystem::path path;     // empty: derived from main_checkout and the slug
  std::filesystem::path git_dir;  // of an existing checkout that is adopted; empty otherwise
  StackWish stack = StackWish::with_stack;
  NameRules rules;
};

class Registry {
 public:
  Registry(StateDatabase& state, const Clock& clock) : state_(state), clock_(clock) {}

  // Records a birth: id, slug, names and directory, decided once under the machine-wide lock. If the
  // repository already has a worktree of that branch and instance (or is registered as main), that record is
  // returned as it is. Errors: invalid_input as choose_slug() and derive_directory(); conflict `name_taken`
  // (main); state errors.
  Result<WorktreeRecord> admit(const Birth& birth);
  // What admit() would return, recording nothing.
  Result<WorktreeRecord> propose(const Birth& birth);

  Result<std::vector<WorktreeRecord>> load_all();
  Result<std::optional<WorktreeRecord>> find(std::string_view id);
  Result<std::vector<WorktreeRecord>> load_repository(const std::filesystem::path& repository);
  Result<std::optional<WorktreeRecord>> find_path(const std::filesystem::path& path);

  // Writes what may change of a record: state, branch and its origin, base, paths, stack wish. Identity and
  // slug never do.
  Result<void> update(const WorktreeRecord& record);
  // What a passer-by noticed, without the worktree's lock. They change nothing (and return false) if the
  // record is no longer as `seen`: whoever changed it meanwhile knows better.
  // The branch is then not this birth's, so it stays when the worktree goes.
  Result<bool> set_branch(const WorktreeRecord& seen, const std::string& branch);
  // Takes over repository, main checkout, path and git directory of `moved`.
  Result<bool> set_place(const WorktreeRecord& seen, const WorktreeRecord& moved);
  Result<void> touch(std::string_view id);  // last use is now
  // Forgets a worktree with its names, ports and ledger. The absent one is success.
  // Errors: refused, if its ledger is not empty.
  Result<void> forget(std::string_view id);

 private:
  StateDatabase& state_;
  const Clock& clock_;
};

}  // namespace hedge::worktree
