// The environment file of a worktree, as a resource.
#pragma once

#include <memory>

#include "worktree/env_format.h"
#include "worktree/git/git.h"
#include "worktree/resource_kind.h"
#include "worktree/worktree_locks.h"

namespace hedge::worktree {

inline constexpr std::string_view kEnvKind = "env";

// What the caller gives about the local CA, among the values: "trust.<VARIABLE>" for each variable with which programs
// trust it, and the directory that these name, which containers mount.
inline constexpr std::string_view kTrustPrefix = "trust.";
inline constexpr std::string_view kTrustDirectory = "ca.directory";

// The variables of a worktree: HEDGE_APP, _ID, _SLUG, _BRANCH, _NONCE, _URL, _HOST, then those with which programs
// trust the local CA, but for what [env.variables] sets itself, then [env.variables].
// HEDGE_BRANCH is left out if the format cannot hold the branch's name. Errors: invalid_input
// `template_unknown`, `env_value_invalid`.
using PlannedVariables = std::vector<std::pair<std::string, ValueText>>;
Result<PlannedVariables> plan_variables(const PlanInput& input, const Values& values);

// Written with mode 0600 and kept out of git by info/exclude; byte-identical on rerun. A file that has other
// content gets a block at its end. Errors: refused `env_file_symlink`, `env_file_tracked`; conflict
// `env_file_foreign`.
class EnvKind final : public ResourceKind {
 public:
  EnvKind(Git& git, const WorktreeLocks& locks) : git_(git), locks_(locks) {}
  std::string kind() const override { return std::string(kEnvKind); }
  void publish(const PlanInput&, Values&) const override {}
  Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const override;
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                         const WorktreeRecord& record) const override;

 private:
  Git& git_;
  const WorktreeLocks& locks_;
};

}  // namespace hedge::worktree
