#include "worktree/git/unsaved_work.h"

#include <array>
#include <utility>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "worktree/git/checkout_info.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxListed = 1000;
constexpr std::string_view kRecoveryPrefix = "refs/hedge/recovery/";

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

// The tree that holds the checkout as it is now, made with an index of its own.
Result<std::string> write_tree(Git& git, const fs::path& top, const fs::path& index) {
  Git::Extras extras;
  extras.variables = {{"GIT_INDEX_FILE", index.string()}};
  for (const std::vector<std::string>& step :
       {std::vector<std::string>{"read-tree", "HEAD"}, std::vector<std::string>{"add", "--all", "--", "."}}) {
    auto output = git.run_with(top, step, extras);
    if (!output) return output.error();
    if (!output->ok()) return git_error(step, *output);
  }
  auto output = git.run_with(top, {"write-tree"}, extras);
  if (!output) return output.error();
  if (!output->ok()) return git_error({"write-tree"}, *output);
  return std::string(trim(output->out));
}

// True if the change of the whole branch, as one commit, is in `target` already: a squash merge.
Result<bool> is_squashed_into(Git& git, const fs::path& repository, const std::string& branch,
                              const std::string& target) {
  const auto base = git.run(repository, {"merge-base", target, branch});
  if (!base) return base.error();
  if (!base->ok()) return false;
  // The identity of a commit that is never kept; its author must not depend on the user's settings.
  Git::Extras extras;
  extras.variables = {{"GIT_AUTHOR_NAME", "hedge"},
                      {"GIT_AUTHOR_EMAIL", "hedge@localhost"},
                      {"GIT_COMMITTER_NAME", "hedge"},
                      {"GIT_COMMITTER_EMAIL", "hedge@localhost"}};
  const std::vector<std::string> squash{
      "commit-tree", branch + "^{tree}", "-p", std::string(trim(base->out)), "-m", "squash"};
  const auto commit = git.run_with(repository, squash, extras);
  if (!commit) return commit.error();
  if (!commit->ok()) return git_error(squash, *commit);
  // `git cherry` marks with "-" what has an equal change upstream. Source: git-cherry(1).
  auto cherry = git.output(repository, {"cherry", target, std::string(trim(commit->out))});
  if (!cherry) return cherry.error();
  return cherry->starts_with('-');
}

// True if each commit of the branch has an equal one in `target`. `git cherry` leaves merges out, and with them
// what their authors changed in them: a branch that has any is for is_squashed_into() alone.
Result<bool> is_picked_into(Git& git, const fs::path& repository, const std::string& branch,
                            const std::string& target) {
  auto merges = git.output(repository, {"rev-list", "--merges", "--max-count=1", branch, "--not", target});
  if (!merges) return merges.error();
  if (!merges->empty()) return false;
  auto cherry = git.output(repository, {"cherry", target, branch});
  if (!cherry) return cherry.error();
  for (const std::string_view line : split(*cherry, '\n')) {
    if (line.starts_with('+')) return false;
  }
  return !cherry->empty();
}

// Branches that others may merge into: the main checkout's, and every remote's default.
Result<std::vector<std::string>> integration_targets(Git& git, const fs::path& repository,
                                                     const std::string& branch) {
  std::vector<std::string> targets;
  auto worktrees = list_worktrees(git, repository);
  if (!worktrees) return worktrees.error();
  if (!worktrees->empty() && !worktrees->front().branch.empty() && worktrees->front().branch != branch) {
    targets.push_back("refs/heads/" + worktrees->front().branch);
  }
  auto heads = git.output(repository, {"for-each-ref", "--format=%(symref)", "refs/remotes/**/HEAD"});
  if (!heads) return heads.error();
  for (const std::string_view head : split(*heads, '\n')) {
    if (!head.empty()) targets.emplace_back(head);
  }
  return targets;
}

}  // namespace

Result<UnsavedWork> find_unsaved_work(Git& git, const fs::path& top) {
  auto info = inspect_exactly(git, top);
  if (!info) return info.error();
  UnsavedWork work;
  work.is_detached = info->branch.empty();
  for (const auto& [file, operation] : kOperations) {
    if (work.operation.empty() && path_exists(info->git_dir / file)) work.operation = operation;
  }
  auto status = git.output(
      top, {"status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none"});
  if (!status) return status.error();
  read_status(*status, work);
  if (info->head.empty()) return work;
  auto commits = list_commits(git, top, "HEAD", info->branch);
  if (!commits) return commits.error();
  work.commits = std::move(*commits);
  if (work.commits.empty() || info->branch.empty()) return work;
  auto integrated = is_integrated(git, info->repository, info->branch);
  if (!integrated) return integrated.error();
  if (*integrated) work.commits.clear();
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

Result<std::string> keep_recoverable(Git& git, const fs::path& top, const std::string& name) {
  auto info = inspect_exactly(git, top);
  if (!info) return info.error();
  const fs::path index = info->git_dir / ("hedge-index-" + to_hex(random_bytes(6)));
  auto tree = write_tree(git, top, index);
  (void)remove_file(index);
  if (!tree) return tree.error();
  Git::Extras extras;
  extras.variables = {{"GIT_AUTHOR_NAME", "hedge"},
                      {"GIT_AUTHOR_EMAIL", "hedge@localhost"},
                      {"GIT_COMMITTER_NAME", "hedge"},
                      {"GIT_COMMITTER_EMAIL", "hedge@localhost"}};
  const std::vector<std::string> arguments{
      "commit-tree", *tree, "-p",
      info->head,    "-m",  "what was in worktree " + name + " when it was destroyed"};
  auto commit = git.run_with(top, arguments, extras);
  if (!commit) return commit.error();
  if (!commit->ok()) return git_error(arguments, *commit);
  const std::string reference = std::string(kRecoveryPrefix) + name;
  auto updated = git.output(top, {"update-ref", reference, std::string(trim(commit->out))});
  if (!updated) return updated.error();
  return reference;
}

Result<bool> is_integrated(Git& git, const fs::path& repository, const std::string& branch) {
  const std::string reference = "refs/heads/" + branch;
  auto targets = integration_targets(git, repository, branch);
  if (!targets) return targets.error();
  for (const std::string& target : *targets) {
    const auto ancestor = git.run(repository, {"merge-base", "--is-ancestor", reference, target});
    if (!ancestor) return ancestor.error();
    if (ancestor->ok()) return true;
    auto picked = is_picked_into(git, repository, reference, target);
    if (!picked) return picked.error();
    if (*picked) return true;
    auto squashed = is_squashed_into(git, repository, reference, target);
    if (!squashed) return squashed.error();
    if (*squashed) return true;
  }
  return false;
}

}  // namespace hedge::worktree
