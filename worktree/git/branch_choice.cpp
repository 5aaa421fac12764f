#include "worktree/git/branch_choice.h"

#include <optional>
#include <vector>

#include "base/text.h"

namespace hedge::worktree {
namespace {

std::vector<std::string> commit_question(const std::string& reference) {
  return {"rev-parse", "--verify", "--quiet", "--end-of-options", reference + "^{commit}"};
}

Result<std::optional<std::string>> find_commit(Git& git, const CheckoutInfo& caller,
                                               const std::string& reference) {
  const auto output = git.ask(place_of(caller), commit_question(reference));
  if (!output) return output.error();
  if (!output->ok()) return std::optional<std::string>();
  return std::optional<std::string>(trim(output->out));
}

// Names of the remotes that have the branch. A remote's name may hold slashes, so it is not read out of a
// ref's name.
Result<std::vector<std::string>> remotes_with(Git& git, const CheckoutInfo& caller,
                                              const std::string& branch) {
  auto names = git.output(place_of(caller), {"remote"});
  if (!names) return names.error();
  std::vector<std::string> found;
  for (const std::string_view remote : split(*names, '\n')) {
    if (remote.empty()) continue;
    auto commit = find_commit(git, caller, "refs/remotes/" + std::string(remote) + "/" + branch);
    if (!commit) return commit.error();
    if (commit->has_value()) found.emplace_back(remote);
  }
  return found;
}

Result<void> require_valid_name(Git& git, const CheckoutInfo& caller, const std::string& branch) {
  const auto output = git.ask(place_of(caller), {"check-ref-format", "refs/heads/" + branch});
  if (!output) return output.error();
  // A leading dash is a valid ref that every command line takes for an option.
  if (output->ok() && !branch.starts_with('-') && branch != "HEAD") return {};
  return Error(ErrorKind::invalid_input, "\"" + printable(branch) + "\" cannot be a branch name")
      .with_id("branch_invalid")
      .with_hint("git-check-ref-format(1) tells the rules");
}

Result<BranchChoice> choose_new(Git& git, const CheckoutInfo& caller, const std::string& from) {
  const std::string start = from.empty() ? "HEAD" : from;
  const std::vector<std::string> question = commit_question(start);
  // What the user named may be something else than a commit, and git says so: no failure of git's.
  const auto output = from.empty() ? git.ask(place_of(caller), question) : git.run(place_of(caller), question);
  if (!output) return output.error();
  if (output->ok()) return BranchChoice{BranchOrigin::ours, std::string(trim(output->out)), {}};
  if (output->exit_code != 1) return git_error(question, *output);
  const std::string text =
      from.empty() ? "the repository has no commit yet" : "there is no commit " + printable(from);
  Error error = Error(ErrorKind::invalid_input, text)
                    .with_id("ref_not_found")
                    .with_hint(from.empty() ? "commit something first" : "`git fetch` may bring it");
  if (output->err.empty()) return error;
  return std::move(error).with_cause(git_error(question, *output));
}

}  // namespace

std::filesystem::path place_of(const CheckoutInfo& caller) {
  return caller.top.empty() ? caller.repository : caller.top;
}

Result<BranchChoice> choose_branch(Git& git, const CheckoutInfo& caller, const std::string& branch,
                                   const std::string& from) {
  if (auto valid = require_valid_name(git, caller, branch); !valid) return valid.error();
  auto local = find_commit(git, caller, "refs/heads/" + branch);
  if (!local) return local.error();
  if (local->has_value()) return BranchChoice{BranchOrigin::existing, **local, {}};
  if (!from.empty()) return choose_new(git, caller, from);
  auto remotes = remotes_with(git, caller, branch);
  if (!remotes) return remotes.error();
  if (remotes->empty()) return choose_new(git, caller, from);
  if (remotes->size() > 1) {
    return Error(ErrorKind::invalid_input,
                 "several remotes have a branch " + printable(branch) + ": " + join(*remotes, ", "))
        .with_id("branch_ambiguous")
        .with_hint("say which one: --from " + remotes->front() + "/" + branch);
  }
  const std::string& remote = remotes->front();
  auto commit = find_commit(git, caller, "refs/remotes/" + remote + "/" + branch);
  if (!commit) return commit.error();
  return BranchChoice{BranchOrigin::ours, commit->value_or(""), remote};
}

}  // namespace hedge::worktree
