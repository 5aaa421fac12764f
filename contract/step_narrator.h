// Tells people what a run is doing, and remembers where it stopped.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "worktree/runner.h"

namespace hedge::contract {

class StepNarrator final : public worktree::StepObserver {
 public:
  explicit StepNarrator(std::function<void(std::string_view)> tell) : tell_(std::move(tell)) {}

  Result<void> on_step(worktree::Stage stage, const worktree::ResourceSpec& spec) override;
  void tell(std::string_view text) const { tell_(text); }
  // The step whose effect was begun and not closed. Absent: none.
  const std::optional<worktree::ResourceSpec>& open_step() const { return open_; }

 private:
  std::function<void(std::string_view)> tell_;
  std::optional<worktree::ResourceSpec> open_;
};

}  // namespace hedge::contract
