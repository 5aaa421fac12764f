#include "worktree/seed/seed_resource.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "config/project_config.h"
#include "worktree/data/sqlite_files.h"
#include "worktree/parameters.h"
#include "worktree/seed/denied_values.h"
#include "worktree/seed/obstacle.h"
#include "worktree/seed/seed_sources.h"
#include "worktree/seed/tree_copy.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxNotes = 100;

struct SeedParameters {
  std::vector<std::string> paths;
  std::vector<std::string> deny;
  std::vector<std::string> lockfiles;
  std::vector<std::string> excluded;
};

Result<SeedParameters> parse_parameters(const ResourceSpec& spec) {
  const auto json = nlohmann::json::parse(spec.parameters, nullptr, false);
  SeedParameters parameters;
  const auto read = [&json](const char* key, std::vector<std::string>& into) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_array()) return false;
    for (const auto& item : json[key]) {
      if (!item.is_string()) return false;
      into.push_back(item.get<std::string>());
    }
    return true;
  };
  const bool is_read = read("paths", parameters.paths) && read("deny", parameters.deny) &&
                       read("lockfiles", parameters.lockfiles) &&
                       (!json.contains("excluded") || read("excluded", parameters.excluded));
  if (is_read) return parameters;
  return Error(ErrorKind::corrupt, "the ledger's entry of seed " + printable(spec.name) + " cannot be read")
      .with_id("state_unreadable");
}

class SeedResource final : public Resource {
 public:
  SeedResource(std::string name, const WorktreeRecord& record, SeedParameters parameters)
      : name_(std::move(name)), record_(record), parameters_(std::move(parameters)) {}

  std::string kind() const override { return std::string(kSeedKind); }
  std::string name() const override { return name_; }
  bool lives_in_checkout() const override { return true; }

  Result<Finding> check() override {
    const auto missing = missing_paths();
    if (!missing.empty()) return Finding{Presence::missing, "missing: " + join(missing, ", "), {}};
    return Finding{Presence::present, notes(), {}};
  }

  Result<Change> converge() override {
    const std::vector<std::string> missing = missing_paths();
    const std::string denied = find_denied(record_.main_checkout, missing, parameters_.deny);
    if (!denied.empty()) {
      return Error(ErrorKind::refused, denied + ": it would be copied into the worktree")
          .with_id("seed_denied")
          .with_hint(
              "take the line out of the file, or the file out of the seed, or the pattern out of seed.deny");
    }
    CopyReport total;
    for (const std::string& path : missing) {
      TreeCopy copy{record_.main_checkout, record_.path, path, record_.id};
      copy.excluded = parameters_.excluded;
      auto report = copy_tree(copy);
      if (!report) return report.error();
      add(total, *report);
    }
    return Change{kind(), name(), Action::created, detail(total)};
  }

  // Goes with the checkout, and only with it: its guards decide.
  Result<Change> remove() override { return Change{kind(), name(), Action::none, {}}; }

 private:
  bool is_wanted(const std::string& path) const {
    return path_exists(record_.main_checkout / path) && !path_exists(record_.path / path);
  }

  // Why `path` cannot be copied; empty: it can. The branch, which may be anybody's, says what is a link in the
  // worktree.
  std::string find_reason(const std::string& path) const {
    const std::string mains = find_obstacle(record_.main_checkout, path);
    if (!mains.empty()) return "in main " + mains;
    return find_obstacle(record_.path, path);
  }

  // Those that main has and the worktree has not.
  std::vector<std::string> missing_paths() const {
    std::vector<std::string> missing;
    for (const std::string& path : parameters_.paths) {
      if (is_wanted(path) && find_reason(path).empty()) missing.push_back(path);
    }
    return missing;
  }

  // What there is to say even where nothing is copied.
  std::string notes() const {
    std::vector<std::string> notes;
    for (const std::string& path : parameters_.paths) {
      if (notes.size() == kMaxNotes) break;
      const std::string reason = is_wanted(path) ? find_reason(path) : std::string();
      if (!reason.empty()) notes.push_back("not copied: " + path + ": " + reason);
    }
    const auto differing = differing_lockfiles(record_.main_checkout, record_.path, parameters_.lockfiles);
    if (!differing.empty()) notes.push_back("stale: " + join(differing, ", ") + " differs from main's");
    return join(notes, "; ");
  }

  static void add(CopyReport& total, const CopyReport& report) {
    total.files += report.files;
    total.reflinked += report.reflinked;
    total.bytes += report.bytes;
    total.took += report.took;
    total.links_outside.insert(total.links_outside.end(), report.links_outside.begin(),
                               report.links_outside.end());
    total.skipped.insert(total.skipped.end(), report.skipped.begin(), report.skipped.end());
  }

  std::string detail(const CopyReport& report) const {
    std::string text = report.summary();
    if (!report.links_outside.empty())
      text += "; links that leave the checkout: " + join(report.links_outside, ", ");
    if (!report.skipped.empty()) text += "; not copied: " + join(report.skipped, ", ");
    const std::string more = notes();
    if (!more.empty()) text += "; " + more;
    return text;
  }

  std::string name_;
  WorktreeRecord record_;
  SeedParameters parameters_;
};

ResourceSpec seed_spec(std::string name, const SeedParameters& parameters) {
  const nlohmann::json json{{"paths", parameters.paths},
                            {"deny", parameters.deny},
                            {"lockfiles", parameters.lockfiles},
                            {"excluded", parameters.excluded}};
  // A file name need not be UTF-8, JSON must be.
  return {std::string(kSeedKind), std::move(name), write_parameters(json)};
}

bool is_listed(const std::vector<std::string>& files, const std::string& path) {
  return std::ranges::find(files, fs::path(path).lexically_normal().string()) != files.end();
}

}  // namespace

Result<std::vector<ResourceSpec>> SeedKind::plan(const PlanInput& input, const Values&) const {
  std::vector<ResourceSpec> steps;
  const bool has_source = input.record.kind == WorktreeKind::linked && !input.record.main_checkout.empty();
  if (!has_source) return steps;
  const config::SeedConfig& seed = input.config.seed;
  // The database step makes those.
  const std::vector<std::string> databases = sqlite_files_of(input.config.database);
  for (const std::string& path : input.observed.seed_paths) {
    if (!is_listed(databases, path)) steps.push_back(seed_spec(path, {{path}, seed.deny, seed.lockfiles, databases}));
  }
  std::vector<std::string> included = input.observed.included_files;
  std::erase_if(included, [&databases](const std::string& path) { return is_listed(databases, path); });
  if (!included.empty()) steps.push_back(seed_spec(seed.include, {included, seed.deny, {}, databases}));
  return steps;
}

Result<std::unique_ptr<Resource>> SeedKind::make(const ResourceSpec& spec,
                                                 const WorktreeRecord& record) const {
  auto parameters = parse_parameters(spec);
  if (!parameters) return parameters.error();
  return std::unique_ptr<Resource>(std::make_unique<SeedResource>(spec.name, record, std::move(*parameters)));
}

}  // namespace hedge::worktree
