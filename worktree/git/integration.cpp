#include "worktree/git/integration.h"

#include "base/text.h"
#include "worktree/git/checkout_info.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

// True if the change of the whole branch, as one commit, is in `target` already: a squash merge.
Result<bool> is_squashed_into(Git& git, const fs::path& repository, const std::string& branch,
                              const std::string& target) {
  const auto base = git.run(repository, {"merge-base", target, branch});
  if (!base) return base.error();
  if (!base->ok()) return false;
  Git::Extras extras;
  extras.variables = own_identity();
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

}  // namespace

Environment own_identity() {
  return {{"GIT_AUTHOR_NAME", "hedge"},
          {"GIT_AUTHOR_EMAIL", "hedge@localhost"},
          {"GIT_COMMITTER_NAME", "hedge"},
          {"GIT_COMMITTER_EMAIL", "hedge@localhost"}};
}

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
