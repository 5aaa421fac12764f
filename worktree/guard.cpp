#include "worktree/guard.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "worktree/identity.h"
#include "worktree/occupant.h"
#include "worktree/relocation.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

// A registered worktree between `directory` and `top` (both canonical) that is no checkout any more: without
// this, git would take it for the repository around it.
Result<void> refuse_broken(Registry& registry, const fs::path& directory, const fs::path& top) {
  for (fs::path at = directory; at != top && at != at.parent_path(); at = at.parent_path()) {
    auto record = registry.find_path(at);
    if (!record) return record.error();
    if (!record->has_value()) continue;
    return Error(ErrorKind::refused,
                 at.string() + " is worktree " + (*record)->slug + ", but its .git is gone")
        .with_id("checkout_broken")
        .with_hint(
            "`git worktree repair` in the main checkout may bring it back; `hedge gc` removes what is left");
  }
  return {};
}

// The whole repository has moved: every record of it follows.
Result<void> follow_repository(Registry& registry, const fs::path& from, const RepositoryPlace& now) {
  auto records = registry.load_repository(from);
  if (!records) return records.error();
  for (const WorktreeRecord& seen : *records) {
    if (auto updated = registry.set_place(seen, moved_with(seen, now)); !updated) return updated.error();
  }
  return {};
}

// Where the repository was when the registry last heard of it, if it has moved as a whole.
std::optional<fs::path> former_repository(const Located& located) {
  const bool has_moved = located.outdated && !located.outdated->git_dir.empty() &&
                         located.outdated->git_dir != located.checkout.git_dir &&
                         located.outdated->repository != located.checkout.repository;
  return has_moved ? std::optional(located.outdated->repository) : std::nullopt;
}

// A copied directory brings along the `.git` file that names the original's git directory.
Result<void> refuse_copy(const WorktreeRecord& known, const CheckoutInfo& info) {
  if (known.path == info.top || named_git_dir(known.path) != info.git_dir) return {};
  return Error(ErrorKind::refused, info.top.string() + " is a copy of worktree " + known.slug + " at " +
                                       known.path.string() + ": both claim to be it")
      .with_id("worktree_duplicated")
      .with_hint("remove " + (info.top / ".git").string() + ", or the directory that is not meant");
}

// Fills in the record that the checkout belongs to, and where it was before.
Result<void> recognize(Registry& registry, Located& located) {
  const CheckoutInfo& info = located.checkout;
  auto identity = load_identity(info.git_dir);
  if (!identity) return identity.error();
  if (!identity->has_value()) return {};
  auto recorded = registry.find(**identity);
  if (!recorded) return recorded.error();
  if (!recorded->has_value()) return {};
  WorktreeRecord known = std::move(**recorded);
  if (known.git_dir == info.git_dir && known.path == info.top) {
    located.record = std::move(known);
    return {};
  }
  if (!known.git_dir.empty() && known.git_dir != info.git_dir) {
    // The original still stands: this one is a copy, and has to be born on its own.
    const auto original = load_identity(known.git_dir);
    if (original && *original == known.id) return {};
  }
  if (auto single = refuse_copy(known, info); !single) return single;
  located.outdated = known;
  known.repository = info.repository;
  known.main_checkout = located.main_checkout;
  known.git_dir = info.git_dir;
  known.path = info.top;
  located.record = std::move(known);
  return {};
}

// Of the whole repository, each where it is now.
Result<std::vector<WorktreeRecord>> load_siblings(Git& git, Registry& registry, const Located& located) {
  auto records = registry.load_repository(located.checkout.repository);
  if (!records) return records.error();
  if (const auto former = former_repository(located)) {
    auto left_behind = registry.load_repository(*former);
    if (!left_behind) return left_behind.error();
    for (WorktreeRecord& record : *left_behind) {
      records->push_back(
          moved_with(std::move(record), {located.checkout.repository, located.main_checkout}));
    }
  }
  for (WorktreeRecord& record : *records) record = find_moved(git, std::move(record));
  return records;
}

// Whether the worktree has `branch` now; another that took its place does not count.
bool stands_on(Git& git, const std::vector<ListedWorktree>& listed, const WorktreeRecord& record,
               const std::string& branch) {
  const auto found = std::ranges::find(listed, record.path, &ListedWorktree::path);
  if (found == listed.end() || found->branch != branch) return false;
  const auto place = look_at_place(git, record);
  return place && place->occupant == Occupant::ours;
}

std::vector<WorktreeRecord> select(const std::vector<WorktreeRecord>& records,
                                   const std::function<bool(const WorktreeRecord&)>& is_wanted) {
  std::vector<WorktreeRecord> out;
  std::ranges::copy_if(records, std::back_inserter(out), is_wanted);
  return out;
}

}  // namespace

Result<Located> locate(Git& git, Registry& registry, const fs::path& directory) {
  std::error_code failure;
  const fs::path canonical = fs::canonical(directory, failure);
  if (failure) {
    return Error::from_errno(failure.value(), "look at " + directory.string()).with_id("path_missing");
  }
  auto info = inspect_checkout(git, canonical);
  const fs::path top = info && !info->top.empty() ? info->top : fs::path("/");
  if (auto refused = refuse_broken(registry, canonical, top); !refused) return refused.error();
  if (!info) return info.error();
  Located located;
  located.checkout = std::move(*info);
  const CheckoutInfo& checkout = located.checkout;
  if (checkout.kind == WorktreeKind::main) {
    located.main_checkout = checkout.top;
  } else {
    auto main = find_main_checkout(git, checkout.repository);
    if (!main) return main.error();
    located.main_checkout = std::move(*main);
  }
  if (auto recognized = recognize(registry, located); !recognized) return recognized.error();
  return located;
}

Result<Located> locate_and_follow(Git& git, Registry& registry, const fs::path& directory) {
  auto located = locate(git, registry, directory);
  if (!located || !located->outdated) return located;
  const CheckoutInfo& checkout = located->checkout;
  const bool has_moved =
      located->outdated->path != checkout.top && checkout.kind == WorktreeKind::linked;
  if (const auto former = former_repository(*located)) {
    const RepositoryPlace now{checkout.repository, located->main_checkout};
    if (auto followed = follow_repository(registry, *former, now); !followed) return followed.error();
  }
  // As follow_repository() may have left it.
  auto seen = registry.find(located->record->id);
  if (!seen) return seen.error();
  if (!seen->has_value()) {
    located->record.reset();
    located->outdated.reset();
    return located;
  }
  if (auto updated = registry.set_place(**seen, *located->record); !updated) return updated.error();
  located->outdated.reset();
  if (has_moved) {
    // The repository must know the new place, or its next prune takes the worktree for gone.
    auto repaired = git.output(checkout.top, {"worktree", "repair"});
    if (!repaired) return repaired.error();
  }
  return located;
}

Result<WorktreeRecord> require_initialized(const Located& located) {
  if (located.record) return *located.record;
  const bool is_main = located.checkout.kind == WorktreeKind::main;
  const std::string command = is_main ? "hedge create" : "hedge create --adopt";
  return Error(ErrorKind::refused, located.checkout.top.string() +
                                       " is not set up by hedge: its commands would act on " +
                                       (is_main ? "something unknown" : "the main checkout's stack and data"))
      .with_id("worktree_uninitialized")
      .with_hint("run `" + command + "` here");
}

Result<WorktreeRecord> find_worktree(Git& git, Registry& registry, const Located& located,
                                     const std::string& name, const std::string& instance) {
  auto all = load_siblings(git, registry, located);
  if (!all) return all.error();
  const fs::path& repository = located.checkout.repository;
  std::vector<ListedWorktree> listed;
  if (path_exists(repository)) {
    auto worktrees = list_worktrees(git, repository);
    if (!worktrees) return worktrees.error();
    listed = std::move(*worktrees);
  }
  const auto records = select(*all, [&instance](const WorktreeRecord& record) {
    return record.kind == WorktreeKind::linked && (instance.empty() || record.instance == instance);
  });
  // A branch first, as `hedge create` takes it: the slug of feature/x is the name of another branch, feature-x.
  auto found = select(
      records, [&](const WorktreeRecord& record) { return stands_on(git, listed, record, name); });
  if (found.empty())
    found = select(records, [&name](const WorktreeRecord& record) { return record.branch == name; });
  if (found.empty()) {
    found = select(records, [&name](const WorktreeRecord& record) {
      return record.slug == name || record.id == name;
    });
  }
  if (found.size() > 1 && instance.empty()) {
    const auto plain = select(found, [](const WorktreeRecord& record) { return record.instance.empty(); });
    if (plain.size() == 1) found = plain;
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return Error(ErrorKind::not_found, "there is no worktree \"" + printable(name) + "\" of this repository")
        .with_id("worktree_not_found")
        .with_hint("`hedge list` shows all of them");
  }
  std::vector<std::string> slugs;
  for (const WorktreeRecord& record : found) slugs.push_back(record.slug);
  return Error(ErrorKind::invalid_input, "several worktrees are called \"" + printable(name) + "\"")
      .with_id("worktree_ambiguous")
      .with_hint("name one of: " + join(slugs, ", "));
}

}  // namespace hedge::worktree
