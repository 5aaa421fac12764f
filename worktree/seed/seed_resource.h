// Seeding as resources: one for each directory, and one for all files of .worktreeinclude.
#pragma once

#include <memory>

#include "worktree/resource_kind.h"

namespace hedge::worktree {

inline constexpr std::string_view kSeedKind = "seed";

// What is there already is left alone, whoever made it; it goes with the checkout.
class SeedKind final : public ResourceKind {
 public:
  std::string kind() const override { return std::string(kSeedKind); }
  void publish(const PlanInput&, Values&) const override {}
  Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const override;
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                         const WorktreeRecord& record) const override;
};

}  // namespace hedge::worktree
