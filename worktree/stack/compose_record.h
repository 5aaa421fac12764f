// What a compose stack was last started from: enough to tell, without running Compose, whether it still is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/stack/shared_networks.h"

namespace hedge::worktree {

struct ComposeRecord {
  std::string digest;                  // of everything that went into the configuration
  std::vector<std::string> services;   // all that the configuration has
  std::vector<std::string> one_shots;  // those of them whose right state is to have ended with 0
  SharedNetworks shared_networks = {};
  bool operator==(const ComposeRecord&) const = default;
};

// Absent if the file is not there. Errors: corrupt `state_unreadable`.
Result<std::optional<ComposeRecord>> load_compose_record(const std::filesystem::path& file);
Result<void> store_compose_record(const std::filesystem::path& file, const ComposeRecord& record);

}  // namespace hedge::worktree
