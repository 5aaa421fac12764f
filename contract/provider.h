// Where the command runs, and hence which requirements count. A provider is a row of a table.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "contract/result.h"

namespace hedge::contract {

// What detection may look at. Looked at once, by collect_evidence().
struct Evidence {
  bool needs_engine = false;          // the stack consists of containers
  std::optional<Error> engine_error;  // absent: the engine answers, or nobody needs it
};

struct ProviderWish {
  std::optional<std::string> option;       // --provider
  std::optional<std::string> environment;  // HEDGE_PROVIDER
  std::optional<std::string> config;       // [provider] default
  std::optional<std::string> recorded;     // what an earlier run chose
};

struct ProviderDecision {
  ProviderChoice choice;
  std::vector<Warning> warnings;
};

// The first wish that is there, in the order of ProviderWish, else what the evidence says.
// Errors: invalid_input `provider_unknown`, listing the known ones. A recorded provider that is not known any more is detected
// anew, with the warning `provider_changed`.
Result<ProviderDecision> choose_provider(const ProviderWish& wish, const Evidence& evidence);

std::vector<std::string_view> known_providers();

// The choice that is kept in the repository's git directory, so that later turns agree.
// Absent: none, or one that cannot be read (then it is detected and recorded anew).
std::optional<std::string> load_recorded_provider(const std::filesystem::path& git_common_dir);
Result<void> store_recorded_provider(const std::filesystem::path& git_common_dir, std::string_view name);

}  // namespace hedge::contract
