#include "worktree/git/branch_resource.h"

#include <chrono>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "worktree/git/checkout_info.h"
#include "worktree/git/integration.h"
#include "worktree/parameters.h"

namespace hedge::worktree {
namespace {

constexpr std::size_t kShortHash = 10;
constexpr int kConfigAttempts = 10;
constexpr auto kConfigPause = std::chrono::milliseconds(100);

struct BranchParameters {
  std::string branch;
  std::string base;
  std::string upstream;
  BranchOrigin origin = BranchOrigin::existing;
};

Result<BranchParameters> parse_parameters(const ResourceSpec& spec) {
  const auto json = nlohmann::json::parse(spec.parameters, nullptr, false);
  const Error damaged =
      Error(ErrorKind::corrupt, "the ledger's entry of branch " + printable(spec.name) + " cannot be read")
          .with_id("state_unreadable");
  if (!json.is_object()) return damaged;
  const auto text = [&json](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  auto origin = parse_branch_origin(text("origin"));
  if (!origin || text("base").empty()) return damaged;
  return BranchParameters{spec.name, text("base"), text("upstream"), *origin};
}

class BranchResource final : public Resource {
 public:
  BranchResource(Git& git, const WorktreeLocks& locks, const WorktreeRecord& record,
                 BranchParameters parameters)
      : git_(git), locks_(locks), repository_(record.repository), parameters_(std::move(parameters)) {}

  std::string kind() const override { return std::string(kBranchKind); }
  std::string name() const override { return parameters_.branch; }

  Result<Finding> check() override {
    auto tip = find_tip();
    if (!tip) return tip.error();
    if (tip->empty()) return Finding{Presence::missing, "no branch " + parameters_.branch, {}};
    if (parameters_.upstream.empty()) return Finding{Presence::present, {}, {}};
    auto remote = configured_remote();
    if (!remote) return remote.error();
    if (*remote == parameters_.upstream) return Finding{Presence::present, {}, {}};
    return Finding{Presence::differs, "does not track " + parameters_.upstream, {}};
  }

  Result<Change> converge() override {
    const auto lock = locks_.lock_repository(repository_);
    if (!lock) return lock.error();
    auto tip = find_tip();
    if (!tip) return tip.error();
    const bool is_new = tip->empty();
    if (is_new) {
      auto made =
          git_.output(repository_, {"branch", "--no-track", "--", parameters_.branch, parameters_.base});
      if (!made) return made.error();
    }
    if (!parameters_.upstream.empty()) {
      if (auto tracked = track_upstream(); !tracked) return tracked.error();
    }
    return Change{kind(), name(), is_new ? Action::created : Action::updated,
                  "from " + parameters_.base.substr(0, kShortHash)};
  }

  Result<Change> remove() override {
    // The whole clone is gone, and its branches with it.
    if (!path_exists(repository_)) return Change{kind(), name(), Action::none, {}};
    const auto lock = locks_.lock_repository(repository_);
    if (!lock) return lock.error();
    auto tip = find_tip();
    if (!tip) return tip.error();
    if (tip->empty()) return Change{kind(), name(), Action::none, {}};
    auto reason = reason_to_keep(*tip);
    if (!reason) return reason.error();
    if (!reason->empty()) return Change{kind(), name(), Action::none, "kept: " + *reason};
    // Compare and delete in one step: nobody's commit can slip in between.
    auto deleted = git_.output(repository_, {"update-ref", "-d", reference(), *tip});
    if (!deleted) return deleted.error();
    forget_settings();
    return Change{kind(), name(), Action::removed, "was at " + tip->substr(0, kShortHash)};
  }

 private:
  std::string reference() const { return "refs/heads/" + parameters_.branch; }

  Result<std::string> find_tip() {
    const auto output =
        git_.run(repository_, {"rev-parse", "--verify", "--quiet", reference() + "^{commit}"});
    if (!output) return output.error();
    return output->ok() ? std::string(trim(output->out)) : std::string();
  }

  Result<std::string> configured_remote() {
    const auto output =
        git_.run(repository_, {"config", "--get", "branch." + parameters_.branch + ".remote"});
    if (!output) return output.error();
    return std::string(trim(output->out));
  }

  Result<void> track_upstream() {
    const std::string upstream = parameters_.upstream + "/" + parameters_.branch;
    // Our own runs are kept apart by the repository lock; a git of somebody else may hold the configuration
    // for a moment.
    for (int attempt = 1;; ++attempt) {
      const std::vector<std::string> arguments{"branch", "--set-upstream-to", upstream, parameters_.branch};
      const auto output = git_.run(repository_, arguments);
      if (!output) return output.error();
      if (output->ok()) return {};
      if (attempt == kConfigAttempts) return git_error(arguments, *output);
      std::this_thread::sleep_for(kConfigPause);
    }
  }

  // Empty: it may go.
  Result<std::string> reason_to_keep(const std::string& tip) {
    auto worktrees = list_worktrees(git_, repository_);
    if (!worktrees) return worktrees.error();
    for (const ListedWorktree& worktree : *worktrees) {
      if (worktree.branch == parameters_.branch) return "it is checked out in " + worktree.path.string();
    }
    const bool has_moved = tip != parameters_.base;
    const bool is_ours = parameters_.origin == BranchOrigin::ours;
    if (!has_moved && is_ours) return std::string();
    if (!has_moved) return std::string("it was there before the worktree");
    auto integrated = is_integrated(git_, repository_, parameters_.branch);
    if (!integrated) return integrated.error();
    return *integrated ? std::string() : std::string("it has commits that are nowhere else");
  }

  void forget_settings() {
    // Best effort: settings of a branch that does not exist harm nobody.
    (void)git_.run(repository_, {"config", "--remove-section", "branch." + parameters_.branch});
  }

  Git& git_;
  const WorktreeLocks& locks_;
  std::filesystem::path repository_;
  BranchParameters parameters_;
};

}  // namespace

Result<std::vector<ResourceSpec>> BranchKind::plan(const PlanInput& input, const Values&) const {
  const WorktreeRecord& record = input.record;
  const bool has_branch = !record.branch.empty() && record.branch_origin != BranchOrigin::none;
  if (record.kind == WorktreeKind::main || !has_branch) return std::vector<ResourceSpec>();
  const nlohmann::json parameters{
      {"base", record.base}, {"upstream", record.upstream}, {"origin", to_string(record.branch_origin)}};
  return std::vector<ResourceSpec>{{kind(), record.branch, write_parameters(parameters)}};
}

Result<std::unique_ptr<Resource>> BranchKind::make(const ResourceSpec& spec,
                                                   const WorktreeRecord& record) const {
  auto parameters = parse_parameters(spec);
  if (!parameters) return parameters.error();
  return std::unique_ptr<Resource>(
      std::make_unique<BranchResource>(git_, locks_, record, std::move(*parameters)));
}

}  // namespace hedge::worktree
