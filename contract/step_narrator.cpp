#include "contract/step_narrator.h"

namespace hedge::contract {

Result<void> StepNarrator::on_step(worktree::Stage stage, const worktree::ResourceSpec& spec) {
  if (stage == worktree::Stage::begun) {
    open_ = spec;
    tell_(spec.kind + " " + spec.name);
  } else if (stage == worktree::Stage::closed) {
    open_.reset();
  }
  return {};
}

}  // namespace hedge::contract
