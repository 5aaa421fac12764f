#include "worktree/git/unsaved_work.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "worktree/git/integration.h"
#include "worktree/git/leftovers.h"
#include "worktree/git/nested_repository.h"
#include "worktree/git/private_index.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxListed = 1000;

// Files in the git directory that stand for an operation in progress. Source: git's wt-status.c,
// wt_status_get_state().
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOperations{
    {{"rebase-merge", "rebase"},
     {"rebase-apply", "rebase"},
     {"MERGE_HEAD", "merge"},
     {"CHERRY_PICK_HEAD", "cherry-pick"},
     {"REVERT_HEAD", "revert"},
     {"BISECT_LOG", "bisect"}}};

void push_bounded(std::vector<std::string>& list, std::string_view entry) {
  if (list.size() < kMaxListed) list.emplace_back(entry);
}

// The path of a porcelain v2 entry: after a fixed number of space-separated fields. Source: git-status(1).
std::string_view path_after_fields(std::string_view entry, int fields) {
  for (int i = 0; i < fields; ++i) {
    const auto space = entry.find(' ');
    if (space == std::string_view::npos) return {};
    entry.remove_prefix(space + 1);
  }
  return entry;
}

void read_status(std::string_view status, UnsavedWork& work) {
  bool is_origin_of_rename = false;
  for (const std::string_view entry : split(status, '\0')) {
    if (entry.empty()) continue;
    if (std::exchange(is_origin_of_rename, false)) continue;
    switch (entry.front()) {
      case '1':
        push_bounded(work.modified, path_after_fields(entry, 8));
        break;
      case '2':
        push_bounded(work.modified, path_after_fields(entry, 9));
        is_origin_of_rename = true;
        break;
      case 'u':
        push_bounded(work.modified, path_after_fields(entry, 10));
        break;
      case '?':
        if (!is_leftover(path_after_fields(entry, 1)))
          push_bounded(work.untracked, path_after_fields(entry, 1));
        break;
      default:
        break;
    }
  }
}

// Everything but `branch` that keeps commits alive, as arguments that follow --not.
std::vector<std::string> other_references(const std::string& branch) {
  std::vector<std::string> out;
  if (!branch.empty()) out.push_back("--exclude=refs/heads/" + branch);
  out.insert(out.end(), {"--glob=refs/heads/*", "--remotes", "--tags"});
  return out;
}

Result<std::vector<std::string>> list_commits(Git& git, const fs::path& place, const std::string& from,
                                              const std::string& branch) {
  std::vector<std::string> arguments{
      "rev-list", "--max-count=" + std::to_string(kMaxListed), "--format=%h %s", "--no-commit-header", from,
      "--not"};
  for (std::string& reference : other_references(branch)) arguments.push_back(std::move(reference));
  auto text = git.output(place, std::move(arguments));
  if (!text) return text.error();
  std::vector<std::string> commits;
  for (const std::string_view line : split(*text, '\n')) {
    if (!line.empty()) commits.emplace_back(line);
  }
  return commits;
}

// Paths of files that git was told to overlook and that differ from what is staged.
Result<std::vector<std::string>> find_overlooked_changes(Git& git, const CheckoutInfo& checkout) {
  std::vector<std::string> changed;
  auto overlooked = list_overlooked(git, checkout.top);
  if (!overlooked) return overlooked.error();
  std::set<std::string_view> wanted;
  for (const OverlookedFile& file : *overlooked) {
    if (!file.is_absent) wanted.insert(file.path);
  }
  if (wanted.empty()) return changed;
  auto entries = list_index(git, checkout.top);
  if (!entries) return entries.error();
  std::erase_if(*entries, [&wanted](const IndexEntry& entry) { return !wanted.contains(entry.path); });
  PrivateIndex index(git, checkout);
  if (auto filled = index.output({"update-index", "-z", "--index-info"}, index_info(*entries)); !filled)
    return filled.error();
  // Its exit code says that something differs; what it is comes next.
  if (auto refreshed = index.run({"update-index", "-q", "--refresh"}); !refreshed) return refreshed.error();
  auto names = index.output({"diff-files", "--name-only", "-z", "--ignore-submodules=none"});
  if (!names) return names.error();
  for (const std::string_view path : split(*names, '\0')) {
    if (!path.empty()) push_bounded(changed, path);
  }
  return changed;
}

}  // namespace

Result<UnsavedWork> find_unsaved_files(Git& git, const CheckoutInfo& checkout) {
  UnsavedWork work;
  work.is_detached = checkout.branch.empty();
  for (const auto& [file, operation] : kOperations) {
    if (work.operation.empty() && path_exists(checkout.git_dir / file)) work.operation = operation;
  }
  auto status = git.output(
      checkout.top, {"status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none"});
  if (!status) return status.error();
  read_status(*status, work);
  auto overlooked = find_overlooked_changes(git, checkout);
  if (!overlooked) return overlooked.error();
  for (const std::string& path : *overlooked) {
    if (std::ranges::find(work.modified, path) == work.modified.end()) push_bounded(work.modified, path);
  }
  return work;
}

Result<UnsavedWork> find_unsaved_work(Git& git, const fs::path& top) {
  auto info = inspect_exactly(git, top);
  if (!info) return info.error();
  auto work = find_unsaved_files(git, *info);
  if (!work) return work;
  auto nested = find_nested_repositories(git, *info);
  if (!nested) return nested.error();
  for (const NestedRepository& repository : *nested) {
    auto lines = list_nested_work(git, repository);
    if (!lines) return lines.error();
    for (const std::string& line : *lines) push_bounded(work->nested, line);
  }
  if (info->head.empty()) return work;
  auto commits = list_commits(git, top, "HEAD", info->branch);
  if (!commits) return commits.error();
  work->commits = std::move(*commits);
  if (work->commits.empty() || info->branch.empty()) return work;
  auto integrated = is_integrated(git, info->repository, info->branch);
  if (!integrated) return integrated.error();
  if (*integrated) work->commits.clear();
  return work;
}

Result<std::vector<std::string>> list_ignored(Git& git, const fs::path& top) {
  auto text =
      git.output(top, {"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"});
  if (!text) return text.error();
  std::vector<std::string> paths;
  for (const std::string_view path : split(*text, '\0')) {
    if (!path.empty()) push_bounded(paths, path);
  }
  return paths;
}

}  // namespace hedge::worktree
