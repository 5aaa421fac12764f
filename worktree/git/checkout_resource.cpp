#include "worktree/git/checkout_resource.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "worktree/git/checkout_disk.h"
#include "worktree/git/checkout_info.h"
#include "worktree/git/directory_removal.h"
#include "worktree/git/leftovers.h"
#include "worktree/identity.h"
#include "worktree/parameters.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr auto kAddLimit = std::chrono::minutes(30);  // a large repository on a slow disk
constexpr std::uintmax_t kFullDiskBytes = 1U << 20;   // with less than this free, a failure is the disk's

// What is at the worktree's path, and what git says about it.
struct Situation {
  bool exists = false;
  bool has_git_file = false;
  bool is_empty = false;
  std::optional<ListedWorktree> listed;
  std::optional<fs::path> elsewhere;  // another checkout that has our branch
  bool is_half_made() const { return listed && listed->lock_reason == kHalfMadeLockReason; }
  bool is_sound() const { return exists && has_git_file && listed && !is_half_made(); }
};

Error path_occupied(const fs::path& path, std::string_view why) {
  return Error(ErrorKind::conflict, path.string() + " is taken: " + std::string(why))
      .with_id("path_occupied")
      .with_hint(
          "move it away, or run `hedge create --adopt` inside it if it is a worktree that you want to keep");
}

Error checkout_broken(const fs::path& path, std::string_view why) {
  return Error(ErrorKind::refused, path.string() + " is no sound checkout: " + std::string(why))
      .with_id("checkout_broken")
      .with_hint("look for work in it first; `git worktree repair` in the main checkout may bring it back");
}

// Whether a checkout without an identity can be ours.
enum class Claim {
  finished,  // it had one: without it, it is another's
  begun,     // a run of ours began to make it, and none has finished: what is there may be half made
  adopting,  // somebody made it, and it is about to be given ours; until then it is never removed
};

class CheckoutResource final : public Resource {
 public:
  CheckoutResource(Git& git, const WorktreeLocks& locks, const WorktreeRecord& record, Claim claim)
      : git_(git), locks_(locks), record_(record), begun_by_us_(claim == Claim::begun), claim_(claim) {}

  std::string kind() const override { return std::string(kCheckoutKind); }
  std::string name() const override { return record_.kind == WorktreeKind::main ? "main" : record_.slug; }
  bool lives_in_checkout() const override { return true; }

  Result<Finding> check() override {
    if (record_.kind == WorktreeKind::main) return check_identity(record_.git_dir, {});
    auto situation = look();
    if (!situation) return situation.error();
    if (situation->is_sound()) return check_sound(*situation);
    if (may_be_made_anew(*situation)) {
      if (situation->elsewhere && record_.instance.empty())
        return checked_out_elsewhere(*situation->elsewhere);
      return Finding{Presence::missing, situation->listed ? "half made" : "", {}};
    }
    Error problem = situation->listed || begun_by_us_
                        ? checkout_broken(record_.path, "its .git is gone, or git does not list it")
                        : path_occupied(record_.path, "something else is there");
    return Finding{Presence::foreign, problem.text(), {std::move(problem)}};
  }

  Result<Change> converge() override {
    if (record_.kind == WorktreeKind::main) {
      const auto lock = locks_.lock_repository(record_.repository);
      if (!lock) return lock.error();
      if (auto hidden = hide_leftovers(record_.repository); !hidden) return hidden.error();
      if (auto stored = store_identity(record_.git_dir, record_.id); !stored) return stored.error();
      return Change{kind(), name(), Action::updated, "identity"};
    }
    const auto repository_lock = locks_.lock_repository(record_.repository);
    if (!repository_lock) return repository_lock.error();
    auto situation = look();
    if (!situation) return situation.error();
    std::string detail = record_.path.string();
    const bool is_finished = situation->is_sound() && !begun_by_us_;
    Action action = Action::updated;
    if (!is_finished) {
      auto made = make();
      if (!made) return made.error();
      detail += made->remark;
      action = made->action;
    }
    if (auto owned = take_ownership(); !owned) return owned.error();
    return Change{kind(), name(), action, std::move(detail)};
  }

  Result<Change> remove() override {
    if (!path_exists(record_.repository)) return remove_without_repository();
    const auto repository_lock = locks_.lock_repository(record_.repository);
    if (!repository_lock) return repository_lock.error();
    if (begun_by_us_) {
      // A killed run may have left its git behind. (Of a finished one, only a server that a hook started may
      // hold this lock.)
      const auto git_lock = locks_.lock_git(record_.id);
      if (!git_lock) return git_lock.error();
    }
    auto situation = look();
    if (!situation) return situation.error();
    const fs::path doomed = doomed_path(record_.path, record_.id);
    if (!situation->exists && !situation->listed && !path_exists(doomed))
      return Change{kind(), name(), Action::none, {}};
    if (situation->is_sound()) {
      auto info = inspect_exactly(git_, record_.path);
      if (!info) return info.error();
      auto identity = load_identity(info->git_dir);
      if (!identity) return identity.error();
      // Ours was removed by hand, and somebody else's took its place.
      const bool is_ours = *identity ? **identity == record_.id : begun_by_us_;
      if (!is_ours) return Change{kind(), name(), Action::none, "another worktree is there"};
    } else if (situation->exists && !may_be_made_anew(*situation)) {
      return checkout_broken(record_.path, "its .git is gone, or git does not list it");
    }
    if (situation->exists) {
      auto moved = move_aside(record_.path, doomed);
      if (!moved) return moved.error();
    }
    if (situation->listed) {
      if (auto unregistered = unregister(); !unregistered) return unregistered.error();
    }
    if (auto removed = remove_tree(doomed); !removed) return removed.error();
    return Change{kind(), name(), Action::removed, record_.path.string()};
  }

 private:
  // The clone is gone; what stands at the path then cannot be asked what it is.
  Result<Change> remove_without_repository() const {
    if (path_exists(record_.path)) return checkout_broken(record_.path, "its repository is gone");
    return Change{kind(), name(), Action::none, {}};
  }

  Result<Situation> look() {
    auto worktrees = list_worktrees(git_, record_.repository);
    if (!worktrees) return worktrees.error();
    Situation situation;
    for (const ListedWorktree& worktree : *worktrees) {
      if (worktree.path == record_.path) {
        situation.listed = worktree;
      } else if (!worktree.branch.empty() && worktree.branch == record_.branch) {
        situation.elsewhere = worktree.path;
      }
    }
    situation.exists = path_exists(record_.path);
    situation.has_git_file = path_exists(record_.path / ".git");
    std::error_code failure;
    situation.is_empty = situation.exists && fs::is_empty(record_.path, failure) && !failure;
    return situation;
  }

  // Nothing is there, or only what our own unfinished run has put there.
  bool may_be_made_anew(const Situation& situation) const {
    if (!situation.exists || situation.is_empty) return true;
    if (!begun_by_us_) return false;
    return situation.is_half_made() || (!situation.listed && belongs_to_repository());
  }

  // The checkout's `.git` file names a worktree of our repository.
  bool belongs_to_repository() const {
    return named_git_dir(record_.path).parent_path() == record_.repository / "worktrees";
  }

  Result<Finding> check_sound(const Situation& situation) {
    auto info = inspect_exactly(git_, record_.path);
    if (!info) return info.error();
    return check_identity(info->git_dir, situation.listed->lock_reason);
  }

  Result<Finding> check_identity(const fs::path& git_dir, const std::optional<std::string>& lock_reason) {
    auto identity = load_identity(git_dir);
    if (!identity) return identity.error();
    const bool is_main = record_.kind == WorktreeKind::main;
    if (*identity == record_.id) {
      if (is_main || lock_reason) return Finding{Presence::present, {}, {}};
      return Finding{Presence::differs, "not locked against `git worktree prune`", {}};
    }
    // That it has our git directory's name proves nothing: git gives it to the next worktree at this path.
    const bool may_lack_it = begun_by_us_ || (claim_ == Claim::adopting && record_.git_dir == git_dir);
    if (!*identity && may_lack_it) return Finding{Presence::differs, "without its identity", {}};
    // A main checkout that was copied brings the original's identity along.
    if (is_main) return Finding{Presence::differs, "with another identity", {}};
    Error problem = path_occupied(record_.path, "another worktree is there");
    return Finding{Presence::foreign, problem.text(), {std::move(problem)}};
  }

  Finding checked_out_elsewhere(const fs::path& where) const {
    Error problem =
        Error(ErrorKind::conflict, "branch " + record_.branch + " is checked out in " + where.string())
            .with_id("branch_checked_out")
            .with_hint("run `hedge create --adopt` there, or add --instance NAME for a second worktree");
    return Finding{Presence::foreign, problem.text(), {std::move(problem)}};
  }

  struct Made {
    Action action = Action::updated;
    std::string remark;
  };
  // Requires: the repository's lock is held.
  Result<Made> make() {
    // A killed run may have left its git behind, still writing: that git holds this lock.
    const auto git_lock = locks_.lock_git(record_.id);
    if (!git_lock) return git_lock.error();
    auto situation = look();
    if (!situation) return situation.error();
    auto is_whole = is_whole_checkout(*situation);
    if (!is_whole) return is_whole.error();
    if (*is_whole) return Made{};
    if (auto cleared = clear_half_made(*situation); !cleared) return cleared.error();
    auto said = add(*situation, *git_lock);
    if (!said) return said.error();
    return Made{Action::created, std::move(*said)};
  }

  // A checkout that a killed run made and never called its own counts only if git finished it: nothing may be
  // missing.
  Result<bool> is_whole_checkout(const Situation& situation) {
    if (!situation.is_sound()) return false;
    auto unclaimed = is_unclaimed();
    if (!unclaimed) return unclaimed.error();
    if (!*unclaimed) return true;
    const auto status = git_.run(record_.path, {"status", "--porcelain", "-z", "--untracked-files=no"});
    if (!status) return status.error();
    return status->ok() && status->out.empty();
  }

  // Made by an unfinished run of ours, and never used by anybody since it has no identity yet.
  Result<bool> is_unclaimed() {
    if (!begun_by_us_) return false;
    auto info = inspect_exactly(git_, record_.path);
    if (!info) return info.error();
    auto identity = load_identity(info->git_dir);
    if (!identity) return identity.error();
    return !identity->has_value();
  }

  Result<void> clear_half_made(const Situation& situation) {
    if (!situation.is_sound() && !may_be_made_anew(situation))
      return path_occupied(record_.path, "something else is there");
    if (situation.exists && !situation.is_empty) {
      if (auto removed = remove_tree(record_.path); !removed) return removed;
    }
    return situation.listed ? unregister() : Result<void>();
  }

  // Requires: the directory is gone. Twice `--force`, because ours are locked.
  Result<void> unregister() {
    auto removed =
        git_.output(record_.repository, {"worktree", "remove", "--force", "--force", record_.path.string()});
    if (!removed) return removed.error();
    return {};
  }

  // Returns what is worth telling, such as that a hook failed.
  Result<std::string> add(const Situation& before, const FileLock& git_lock) {
    // Not with `--lock`: while it works git locks the worktree itself with a reason that tells a half-made
    // one.
    std::vector<std::string> arguments{"worktree", "add"};
    // Git has a branch in one checkout only; a further instance stands on the same commit.
    if (before.elsewhere || record_.branch.empty()) arguments.emplace_back("--detach");
    arguments.insert(arguments.end(),
                     {"--", record_.path.string(), record_.branch.empty() ? record_.base : record_.branch});
    Git::Extras extras;
    extras.inherited = {git_lock.descriptor()};
    extras.limit = kAddLimit;
    const auto output = git_.run_with(git_place(), arguments, extras);
    if (!output) return output.error();
    if (output->ok()) return std::string();
    // A hook's exit code is the command's, although the worktree is there.
    auto after = look();
    if (!after) return after.error();
    if (after->is_sound()) return "; a git hook failed: " + tail_of(output->err, 2);
    std::error_code failure;
    const auto space = fs::space(record_.path.parent_path(), failure);
    Error error = git_error(arguments, *output);
    if (!failure && space.available < kFullDiskBytes) {
      return Error(ErrorKind::no_space, "the disk of " + record_.path.string() + " is full")
          .with_id("disk_full")
          .with_cause(std::move(error));
    }
    return error;
  }

  fs::path git_place() const {
    return record_.main_checkout.empty() ? record_.repository : record_.main_checkout;
  }

  // Requires: the repository's lock is held.
  Result<void> take_ownership() {
    auto info = inspect_exactly(git_, record_.path);
    if (!info) return info.error();
    // Before the identity, which says that this step was done, and so before the first file of a later step.
    if (auto hidden = hide_leftovers(record_.repository); !hidden) return hidden;
    if (auto stored = store_identity(info->git_dir, record_.id); !stored) return stored;
    if (auto noted = remember_disk(info->git_dir, record_.path); !noted) return noted;
    auto situation = look();
    if (!situation) return situation.error();
    if (!situation->listed || situation->listed->lock_reason) return {};
    auto locked = git_.output(record_.repository, {"worktree", "lock", "--reason",
                                                   std::string(kOurLockReason), record_.path.string()});
    if (!locked) return locked.error();
    return {};
  }

  Git& git_;
  const WorktreeLocks& locks_;
  WorktreeRecord record_;
  bool begun_by_us_;
  Claim claim_;
};

Claim claim_of(const std::vector<LedgerEntry>& entries, const WorktreeRecord& record) {
  const auto entry = std::ranges::find(entries, kCheckoutKind,
                                       [](const LedgerEntry& candidate) { return candidate.spec.kind; });
  const bool has_entry = entry != entries.end();
  if (record.git_dir.empty()) return has_entry ? Claim::begun : Claim::finished;
  const bool is_closed = has_entry && entry->state != EntryState::making;
  return is_closed ? Claim::finished : Claim::adopting;
}

}  // namespace

Result<std::vector<ResourceSpec>> CheckoutKind::plan(const PlanInput& input, const Values&) const {
  const WorktreeRecord& record = input.record;
  const nlohmann::json parameters{{"base", record.base}};
  const std::string name = record.kind == WorktreeKind::main ? "main" : record.slug;
  return std::vector<ResourceSpec>{{kind(), name, write_parameters(parameters)}};
}

Result<std::unique_ptr<Resource>> CheckoutKind::make(const ResourceSpec&,
                                                     const WorktreeRecord& record) const {
  auto entries = ledger_.load(record.id);
  if (!entries) return entries.error();
  return std::unique_ptr<Resource>(
      std::make_unique<CheckoutResource>(git_, locks_, record, claim_of(*entries, record)));
}

}  // namespace hedge::worktree
