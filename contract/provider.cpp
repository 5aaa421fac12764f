#include "contract/provider.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/text.h"
#include "config/load.h"

namespace hedge::contract {
namespace {

struct ProviderRow {
  std::string_view name;
  // Why it fits; empty if it does not.
  std::vector<std::string> (*detect)(const Evidence&);
};

std::vector<std::string> detect_local(const Evidence& evidence) {
  if (!evidence.needs_engine) return {"the stack needs no container engine"};
  if (!evidence.engine_error) return {"docker engine answers"};
  // Nothing else fits either: engine.available tells what is missing.
  return {"no other provider fits", evidence.engine_error->text()};
}

constexpr std::array<ProviderRow, 1> kProviders{{{"local", detect_local}}};

const ProviderRow* find_provider(std::string_view name) {
  const auto found = std::find_if(kProviders.begin(), kProviders.end(),
                                  [&](const ProviderRow& row) { return row.name == name; });
  return found == kProviders.end() ? nullptr : &*found;
}

struct Source {
  const std::optional<std::string>& wish;
  std::string_view chosen_by;
  std::string_view because;
};

ProviderDecision detect(const Evidence& evidence) {
  for (const ProviderRow& row : kProviders) {
    if (auto because = row.detect(evidence); !because.empty()) {
      return {{std::string(row.name), "detected", std::move(because)}, {}};
    }
  }
  return {{std::string(kProviders.back().name), "detected", {"no provider fits better"}}, {}};
}

std::filesystem::path record_of(const std::filesystem::path& git_common_dir) { return git_common_dir / "hedge-provider"; }

}  // namespace

Result<ProviderDecision> choose_provider(const ProviderWish& wish, const Evidence& evidence) {
  const std::array<Source, 4> sources{{{wish.option, "option", "--provider"},
                                       {wish.environment, "environment", "HEDGE_PROVIDER"},
                                       {wish.config, "config", "[provider] default in hedge.toml"},
                                       {wish.recorded, "recorded", "an earlier run chose it"}}};
  for (const Source& source : sources) {
    if (!source.wish || source.wish->empty()) continue;
    if (find_provider(*source.wish) != nullptr) {
      return ProviderDecision{{*source.wish, std::string(source.chosen_by), {std::string(source.because)}}, {}};
    }
    if (source.chosen_by == "recorded") {
      ProviderDecision decision = detect(evidence);
      decision.warnings.push_back({"provider_changed", "the recorded provider \"" + printable(*source.wish) +
                                                           "\" is not known any more; detected " + decision.choice.name});
      return decision;
    }
    std::vector<std::string> names;
    for (const std::string_view name : known_providers()) names.emplace_back(name);
    return Error(ErrorKind::invalid_input,
                 "there is no provider \"" + printable(*source.wish) + "\" (from " + std::string(source.because) + ")")
        .with_id("provider_unknown")
        .with_hint("known: " + join(names, ", "));
  }
  return detect(evidence);
}

std::vector<std::string_view> known_providers() {
  std::vector<std::string_view> out;
  for (const ProviderRow& row : kProviders) out.push_back(row.name);
  return out;
}

std::optional<std::string> load_recorded_provider(const std::filesystem::path& git_common_dir) {
  const auto text = read_file(record_of(git_common_dir), 256);
  if (!text) return std::nullopt;
  const std::string_view name = trim(*text);
  return name.empty() ? std::nullopt : std::optional<std::string>(name);
}

Result<void> store_recorded_provider(const std::filesystem::path& git_common_dir, std::string_view name) {
  if (load_recorded_provider(git_common_dir) == name) return {};
  return write_file_atomically(record_of(git_common_dir), std::string(name) + "\n", 0644);
}

}  // namespace hedge::contract
