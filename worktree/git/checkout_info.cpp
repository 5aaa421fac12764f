#include "worktree/git/checkout_info.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kBranchPrefix = "refs/heads/";

std::string short_branch(std::string_view ref) {
  if (ref.starts_with(kBranchPrefix)) ref.remove_prefix(kBranchPrefix.size());
  return std::string(ref);
}

Error not_a_repository(const fs::path& directory) {
  return Error(ErrorKind::not_found, directory.string() + " is not inside a git repository")
      .with_id("not_a_repository")
      .with_hint("run the command inside the repository, or name it with -C DIR");
}

// A path of rev-parse's answer: everything up to the one newline at its end, since paths may hold newlines
// themselves.
Result<fs::path> ask_path(Git& git, const fs::path& directory, const char* what) {
  auto text = git.output(directory, {"rev-parse", "--path-format=absolute", what});
  if (!text) return text.error();
  if (text->ends_with('\n')) text->pop_back();
  return resolve_links(*text);
}

constexpr int kFatal = 128;  // git's exit code where it stands in no repository, or in one without files

// The usual case in one process: a checkout whose paths are free of newlines. False: ask one by one.
Result<bool> ask_at_once(Git& git, const fs::path& directory, CheckoutInfo& info) {
  constexpr std::size_t kLines = 4;  // three paths and what follows the last newline
  const std::vector<std::string> question{"rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir",
                                          "--show-toplevel"};
  const auto output = git.run(directory, question);
  if (!output) return output.error();
  if (!output->ok() && output->exit_code != kFatal) return git_error(question, *output);
  const auto lines = split(output->out, '\n');
  if (!output->ok() || lines.size() != kLines) return false;
  info.git_dir = resolve_links(lines[0]);
  info.repository = resolve_links(lines[1]);
  info.top = resolve_links(lines[2]);
  return true;
}

Result<void> ask_one_by_one(Git& git, const fs::path& directory, CheckoutInfo& info) {
  const std::vector<std::string> question{"rev-parse", "--is-bare-repository", "--is-inside-work-tree"};
  const auto inside = git.run(directory, question);
  if (!inside) return inside.error();
  if (!inside->ok() && inside->exit_code != kFatal) return git_error(question, *inside);
  // Everything that is wrong with a repository makes this fail; that there is none is by far the usual case.
  if (!inside->ok()) return not_a_repository(directory).with_cause(git_error(question, *inside));
  auto git_dir = ask_path(git, directory, "--git-dir");
  auto common = ask_path(git, directory, "--git-common-dir");
  if (!git_dir) return git_dir.error();
  if (!common) return common.error();
  info.git_dir = std::move(*git_dir);
  info.repository = std::move(*common);
  if (!inside->out.ends_with("true\n")) return {};
  auto top = ask_path(git, directory, "--show-toplevel");
  if (!top) return top.error();
  info.top = std::move(*top);
  return {};
}

}  // namespace

fs::path resolve_links(const fs::path& path) {
  std::error_code failure;
  fs::path canonical = fs::weakly_canonical(path, failure);
  return failure ? path : canonical;
}

Result<CheckoutInfo> inspect_checkout(Git& git, const fs::path& directory) {
  CheckoutInfo info;
  auto is_known = ask_at_once(git, directory, info);
  if (!is_known) return is_known.error();
  if (!*is_known) {
    if (auto asked = ask_one_by_one(git, directory, info); !asked) return asked.error();
  }
  info.kind = info.git_dir == info.repository ? WorktreeKind::main : WorktreeKind::linked;
  const auto branch = git.ask(directory, {"symbolic-ref", "--quiet", "HEAD"});
  if (!branch) return branch.error();
  if (branch->ok()) info.branch = short_branch(trim(branch->out));
  const auto head = git.ask(directory, {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"});
  if (!head) return head.error();
  if (head->ok()) info.head = std::string(trim(head->out));
  return info;
}

Result<CheckoutInfo> inspect_exactly(Git& git, const fs::path& directory) {
  auto info = inspect_checkout(git, directory);
  const bool is_elsewhere = info && info->top != resolve_links(directory);
  const bool is_nowhere = !info && info.error().id() == "not_a_repository" && path_exists(directory);
  if (!is_elsewhere && !is_nowhere) return info;
  const std::string where = is_elsewhere ? ", git would take it for " + info->top.string() : std::string();
  return Error(ErrorKind::refused, directory.string() + " is no checkout any more: its .git is gone" + where)
      .with_id("checkout_broken")
      .with_hint("`git worktree repair` in the main checkout may bring it back");
}

fs::path named_git_dir(const fs::path& top) {
  constexpr std::size_t kMaxGitFile = 8192;
  constexpr std::string_view kPrefix = "gitdir: ";
  const auto content = read_file(top / ".git", kMaxGitFile);
  if (!content || !content->starts_with(kPrefix)) return {};
  const fs::path named(trim(std::string_view(*content).substr(kPrefix.size())));
  return resolve_links((top / named).lexically_normal());
}

Result<std::vector<ListedWorktree>> list_worktrees(Git& git, const fs::path& repository) {
  auto text = git.output(repository, {"worktree", "list", "--porcelain", "-z"});
  if (!text) return text.error();
  std::vector<ListedWorktree> worktrees;
  // Attributes end in NUL, records in an empty attribute.
  for (const std::string_view attribute : split(*text, '\0')) {
    const auto space = attribute.find(' ');
    const std::string_view name = attribute.substr(0, space);
    const std::string_view value =
        space == std::string_view::npos ? std::string_view() : attribute.substr(space + 1);
    if (name == "worktree") {
      worktrees.emplace_back();
      worktrees.back().path = resolve_links(fs::path(value));
    }
    if (worktrees.empty()) continue;
    ListedWorktree& current = worktrees.back();
    if (name == "HEAD") current.head = std::string(value);
    if (name == "branch") current.branch = short_branch(value);
    if (name == "bare") current.is_bare = true;
    if (name == "prunable") current.is_prunable = true;
    if (name == "locked") current.lock_reason = std::string(value);
  }
  return worktrees;
}

const ListedWorktree* find_listed(const std::vector<ListedWorktree>& worktrees, const fs::path& path) {
  const auto found = std::ranges::find(worktrees, resolve_links(path), &ListedWorktree::path);
  return found == worktrees.end() ? nullptr : &*found;
}

Result<fs::path> find_main_checkout(Git& git, const fs::path& repository) {
  auto worktrees = list_worktrees(git, repository);
  if (!worktrees) return worktrees.error();
  if (worktrees->empty() || worktrees->front().is_bare) return fs::path();
  // With --separate-git-dir, and for a submodule, git names the git directory itself: only the checkout knows
  // where it is.
  auto main = inspect_checkout(git, worktrees->front().path);
  if (main) return main->top;
  const bool is_gone = main.error().kind() == ErrorKind::not_found && main.error().id() != "git_unavailable";
  return is_gone ? Result<fs::path>(fs::path()) : main.error();
}

}  // namespace hedge::worktree
