// "command" as a kind of resource: the repository's `install` and `migrate` commands, run when what they make is out of date.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "worktree/resource_kind.h"

namespace hedge::worktree {

// Commands on the host must run before the processes start that rely on them; commands in a container need it to run.
enum class CommandTurn { before_stack, after_stack };

// `install` is due when the lockfiles differ from the ones that it last ran for (a stamp in the worktree's git directory; the
// main checkout's stamp counts if all that the installation there made was copied). `migrate` is due when `migrate_check` fails; without a
// `migrate_check` it runs once.
class CommandKind final : public ResourceKind {
 public:
  // Lifetime: `runner` and `stacks` outlive the kind and what it makes. `environment`: the caller's.
  CommandKind(CommandTurn turn, Environment environment, CommandRunner& runner, const ResourceKind& stacks)
      : turn_(turn), environment_(std::move(environment)), runner_(runner), stacks_(stacks) {}

  std::string kind() const override { return "command"; }
  void publish(const PlanInput& input, Values& values) const override;
  Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const override;
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec, const WorktreeRecord& record) const override;

 private:
  CommandTurn turn_;
  Environment environment_;
  CommandRunner& runner_;
  const ResourceKind& stacks_;
};

}  // namespace hedge::worktree
