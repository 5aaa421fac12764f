#include "worktree/git/nested_repository.h"

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "worktree/git/integration.h"
#include "worktree/git/private_index.h"
#include "worktree/git/unsaved_work.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxLines = 1000;
constexpr int kMaxModuleDepth = 16;  // of a submodule's name, which may have slashes

// A submodule that is not checked out has a core.worktree that leads nowhere, at which git would fail.
Git::Extras place_of(const NestedRepository& nested) {
  Git::Extras extras;
  if (!nested.checkout.top.empty()) return extras;
  extras.variables = {{"GIT_DIR", nested.checkout.git_dir.string()},
                      {"GIT_WORK_TREE", nested.checkout.git_dir.string()}};
  return extras;
}

Result<std::string> ask(Git& git, const NestedRepository& nested, const std::vector<std::string>& arguments,
                        std::string input = {}) {
  Git::Extras extras = place_of(nested);
  extras.input = std::move(input);
  const fs::path& place = nested.checkout.top.empty() ? nested.checkout.git_dir : nested.checkout.top;
  auto output = git.run_with(place, arguments, extras);
  if (!output) return output.error();
  if (!output->ok()) return git_error(arguments, *output).with_context("in " + printable(nested.label));
  return std::move(output->out);
}

void append_lines(std::string_view text, std::vector<std::string>& lines) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty() && std::ranges::find(lines, line) == lines.end()) lines.emplace_back(line);
  }
}

// Whatever keeps commits alive in it: branches, HEAD, and all stashes (of which a reference names the last).
Result<std::vector<std::string>> list_tips(Git& git, const NestedRepository& nested) {
  std::vector<std::string> tips;
  auto branches = ask(git, nested, {"for-each-ref", "--format=%(objectname)", "refs/heads"});
  if (!branches) return branches.error();
  append_lines(*branches, tips);
  if (!nested.checkout.head.empty()) append_lines(nested.checkout.head, tips);
  auto stash = ask(git, nested, {"for-each-ref", "--format=%(objectname)", "refs/stash"});
  if (!stash) return stash.error();
  if (stash->empty()) return tips;
  append_lines(*stash, tips);
  auto older = ask(git, nested, {"rev-list", "--walk-reflogs", "refs/stash"});
  if (!older) return older.error();
  append_lines(*older, tips);
  return tips;
}

// As "hash subject".
Result<std::vector<std::string>> list_unpushed(Git& git, const NestedRepository& nested,
                                               const std::vector<std::string>& tips, std::size_t most) {
  std::vector<std::string> commits;
  if (tips.empty()) return commits;
  std::string input;
  for (const std::string& tip : tips) input += tip + "\n";
  for (const std::string& known : nested.others) input += "^" + known + "\n";
  auto text = ask(git, nested,
                  {"rev-list", "--max-count=" + std::to_string(most), "--format=%h %s", "--no-commit-header",
                   "--stdin", "--not", "--remotes"},
                  std::move(input));
  if (!text) return text.error();
  append_lines(*text, commits);
  return commits;
}

// Those commits of the submodule at `path` that the branches of others name, where the submodule has them: a commit
// that was fetched by its hash is on no remote's branch, and yet nothing of ours.
Result<std::vector<std::string>> recorded_by_others(Git& git, const CheckoutInfo& checkout,
                                                    const NestedRepository& nested, const std::string& path) {
  std::vector<std::string> known;
  auto targets = integration_targets(git, checkout.repository, checkout.branch);
  if (!targets) return targets.error();
  for (const std::string& target : *targets) {
    const auto commit = git.run(checkout.top, {"rev-parse", "--verify", "--quiet", target + ":" + path});
    if (!commit) return commit.error();
    if (!commit->ok()) continue;
    const std::string hash(trim(commit->out));
    const auto present = git.run(nested.checkout.top, {"cat-file", "-e", hash + "^{commit}"});
    if (!present) return present.error();
    if (present->ok()) append_lines(hash, known);
  }
  return known;
}

Result<void> add_checked_out(Git& git, const CheckoutInfo& checkout, const std::string& path, bool is_tracked,
                             std::vector<NestedRepository>& found) {
  if (!path_exists(checkout.top / path / ".git")) return {};
  auto info = inspect_exactly(git, checkout.top / path);
  if (!info) return info.error();
  NestedRepository nested;
  nested.label = path;
  nested.checkout = std::move(*info);
  nested.is_tracked = is_tracked;
  nested.is_ours = nested.checkout.repository == checkout.repository;
  if (is_tracked) {
    auto known = recorded_by_others(git, checkout, nested, path);
    if (!known) return known.error();
    nested.others = std::move(*known);
  }
  found.push_back(std::move(nested));
  return {};
}

bool is_git_directory(const fs::path& directory) {
  return path_exists(directory / "HEAD") && path_exists(directory / "objects");
}

// Submodules that were checked out once: another branch may have them, and their git directories remain.
Result<void> add_left_behind(Git& git, const fs::path& modules, const fs::path& directory, int depth,
                             std::vector<NestedRepository>& found) {
  std::error_code failure;
  for (fs::directory_iterator entry(directory, failure); !failure && entry != fs::directory_iterator();
       entry.increment(failure)) {
    if (!entry->is_directory(failure) || entry->is_symlink(failure)) continue;
    const fs::path place = entry->path();
    if (!is_git_directory(place)) {
      if (depth == 0) continue;
      if (auto added = add_left_behind(git, modules, place, depth - 1, found); !added) return added;
      continue;
    }
    const bool is_known = std::ranges::any_of(
        found, [&place](const NestedRepository& nested) { return nested.checkout.git_dir == place; });
    if (is_known) continue;
    NestedRepository nested;
    nested.label = place.lexically_relative(modules).string();
    nested.checkout.git_dir = place;
    nested.checkout.repository = place;
    const auto at = git.run_with(place, {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}, place_of(nested));
    if (!at) return at.error();
    if (at->ok()) nested.checkout.head = std::string(trim(at->out));
    found.push_back(std::move(nested));
  }
  if (failure && failure != std::errc::no_such_file_or_directory)
    return Error::from_errno(failure.value(), "list " + directory.string());
  return {};
}

void append_labelled(const std::string& label, const char* what, const std::vector<std::string>& items,
                     std::vector<std::string>& lines) {
  for (const std::string& item : items) {
    if (lines.size() < kMaxLines) lines.push_back(label + ": " + what + item);
  }
}

}  // namespace

Result<std::vector<NestedRepository>> find_nested_repositories(Git& git, const CheckoutInfo& checkout) {
  std::vector<NestedRepository> found;
  if (!checkout.top.empty()) {
    auto entries = list_index(git, checkout.top);
    if (!entries) return entries.error();
    for (const IndexEntry& entry : *entries) {
      if (!entry.is_submodule()) continue;
      if (auto added = add_checked_out(git, checkout, entry.path, true, found); !added) return added.error();
    }
    // Only what is a repository of its own is told as a directory here.
    auto untracked = list_untracked(git, checkout.top);
    if (!untracked) return untracked.error();
    for (const std::string& path : *untracked) {
      if (!path.ends_with('/')) continue;
      const std::string directory = path.substr(0, path.size() - 1);
      if (auto added = add_checked_out(git, checkout, directory, false, found); !added) return added.error();
    }
  }
  const fs::path modules = checkout.git_dir / "modules";
  if (auto added = add_left_behind(git, modules, modules, kMaxModuleDepth, found); !added) return added.error();
  return found;
}

Result<std::vector<std::string>> find_unpushed_tips(Git& git, const NestedRepository& nested) {
  std::vector<std::string> unpushed;
  if (nested.is_ours) return unpushed;
  auto tips = list_tips(git, nested);
  if (!tips) return tips.error();
  for (const std::string& tip : *tips) {
    auto commits = list_unpushed(git, nested, {tip}, 1);
    if (!commits) return commits.error();
    if (!commits->empty()) unpushed.push_back(tip);
  }
  return unpushed;
}

Result<std::vector<std::string>> list_nested_work(Git& git, const NestedRepository& nested) {
  std::vector<std::string> lines;
  if (!nested.checkout.top.empty()) {
    auto files = find_unsaved_files(git, nested.checkout);
    if (!files) return std::move(files).error().with_context("in " + printable(nested.label));
    append_labelled(nested.label, "modified: ", files->modified, lines);
    append_labelled(nested.label, "untracked: ", files->untracked, lines);
    if (!files->operation.empty()) append_labelled(nested.label, "in progress: ", {files->operation}, lines);
  }
  if (!nested.is_ours) {
    auto tips = list_tips(git, nested);
    if (!tips) return tips.error();
    auto commits = list_unpushed(git, nested, *tips, kMaxLines);
    if (!commits) return commits.error();
    append_labelled(nested.label, "commit: ", *commits, lines);
  }
  auto deeper = find_nested_repositories(git, nested.checkout);
  if (!deeper) return deeper.error();
  for (const NestedRepository& inner : *deeper) {
    auto work = list_nested_work(git, inner);
    if (!work) return work.error();
    append_labelled(nested.label, "", *work, lines);
  }
  return lines;
}

}  // namespace hedge::worktree
