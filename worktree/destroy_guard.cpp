#include "worktree/destroy_guard.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "worktree/git/checkout_info.h"
#include "worktree/git/directory_removal.h"
#include "worktree/git/recovery.h"
#include "worktree/occupant.h"

namespace hedge::worktree {
namespace {

constexpr std::size_t kMaxHints = 20;

Error broken(const WorktreeRecord& record, std::string_view why) {
  return Error(ErrorKind::refused, record.path.string() + " cannot be looked into: " + std::string(why))
      .with_id("checkout_broken")
      .with_hint("save what is in it and remove the directory, then run the command again");
}

void add_lines(std::vector<std::string>& lines, std::string_view what,
               const std::vector<std::string>& items) {
  for (const std::string& item : items) lines.push_back(std::string(what) + ": " + printable(item));
}

Error refuse_loss(const WorktreeRecord& record, const UnsavedWork& work) {
  if (!work.operation.empty()) {
    return Error(ErrorKind::refused, "a " + work.operation + " is in progress in " + record.path.string())
        .with_id("operation_in_progress")
        .with_hint("finish or abort it; --discard destroys the worktree and keeps a recovery ref");
  }
  std::vector<std::string> lines;
  add_lines(lines, "modified", work.modified);
  add_lines(lines, "untracked", work.untracked);
  add_lines(lines, work.is_detached ? "commit on no branch" : "commit that is nowhere else", work.commits);
  add_lines(lines, "nested", work.nested);
  Error error = Error(ErrorKind::refused, "worktree " + record.slug + " has work that is nowhere else")
                    .with_id("unsaved_work");
  const std::size_t shown = std::min(lines.size(), kMaxHints);
  for (std::size_t i = 0; i < shown; ++i) error = std::move(error).with_hint(lines[i]);
  if (lines.size() > shown)
    error = std::move(error).with_hint("and " + std::to_string(lines.size() - shown) + " more");
  return std::move(error).with_hint(
      "commit and push it, or destroy with --discard, which keeps a recovery ref");
}

Result<void> require_our_lock(const WorktreeRecord& record, const ListedWorktree& listed) {
  const bool is_free = !listed.lock_reason || listed.lock_reason == kOurLockReason ||
                       listed.lock_reason == kHalfMadeLockReason;
  if (is_free) return {};
  const std::string reason =
      listed.lock_reason->empty() ? "without a reason" : ": " + printable(*listed.lock_reason);
  return Error(ErrorKind::refused, "worktree " + record.slug + " is locked " + reason)
      .with_id("worktree_locked")
      .with_hint("`git worktree unlock " + record.path.string() + "` lifts it");
}

Result<DestroyReport> weigh(Git& git, const WorktreeRecord& record, const DestroyOptions& options,
                            GuardMode mode) {
  DestroyReport report;
  auto work = find_unsaved_work(git, record.path);
  if (!work) return work.error();
  if (!work->empty()) {
    if (options.unsaved == UnsavedPolicy::refuse) return refuse_loss(record, *work);
    if (mode == GuardMode::act) {
      auto reference = keep_recoverable(git, record.path, record.slug + "-" + record.id);
      if (!reference) return reference.error();
      report.recovery_ref = std::move(*reference);
    }
    report.discarded = std::move(*work);
  }
  // Before anything is removed: data that is gone does not come back because a file could not be deleted.
  if (auto removable = require_removable(record.path); !removable) return removable.error();
  auto ignored = list_ignored(git, record.path);
  if (!ignored) return ignored.error();
  report.ignored = std::move(*ignored);
  return report;
}

}  // namespace

Result<void> require_linked(const WorktreeRecord& record) {
  if (record.kind != WorktreeKind::main) return {};
  return Error(ErrorKind::refused, "the main checkout is never destroyed").with_id("main_checkout");
}

Result<DestroyReport> guard_destroy(Git& git, const WorktreeRecord& record, const DestroyOptions& options,
                                    GuardMode mode) {
  if (!path_exists(record.repository)) {
    if (path_exists(record.path))
      return broken(record, "its repository " + record.repository.string() + " is gone");
    return DestroyReport{};
  }
  auto place = look_at_place(git, record);
  if (!place) return place.error();
  // Ours is gone and another worktree stands in its place: neither it nor anything in it is touched.
  if (place->occupant == Occupant::another) {
    DestroyReport report;
    report.scope = RemovalScope::outside_of_checkout;
    return report;
  }
  if (place->listed) {
    if (auto free = require_our_lock(record, *place->listed); !free) return free.error();
  }
  if (place->occupant == Occupant::unlisted) return broken(record, "git does not list it any more");
  if (place->occupant != Occupant::ours) return DestroyReport{};
  return weigh(git, record, options, mode);
}

Result<void> require_nothing_unsaved(Git& git, const WorktreeRecord& record) {
  if (!path_exists(record.repository)) return {};
  auto place = look_at_place(git, record);
  if (!place) return place.error();
  if (place->occupant != Occupant::ours) return {};
  auto work = find_unsaved_work(git, record.path);
  if (!work) return work.error();
  if (!work->empty()) return refuse_loss(record, *work);
  return {};
}

}  // namespace hedge::worktree
