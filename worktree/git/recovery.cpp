#include "worktree/git/recovery.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "worktree/git/integration.h"
#include "worktree/git/leftovers.h"
#include "worktree/git/nested_repository.h"
#include "worktree/git/private_index.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kRecoveryPrefix = "refs/hedge/recovery/";
constexpr std::string_view kIndex = "the index";
constexpr auto kFetchLimit = std::chrono::minutes(10);

// Files of the git directory whose lines begin with commits that may be nowhere else. Source: git's sequencer.c,
// builtin/am.c, builtin/merge.c.
constexpr std::array<std::string_view, 10> kHeldCommits{
    "MERGE_HEAD",          "CHERRY_PICK_HEAD",         "REVERT_HEAD",         "MERGE_AUTOSTASH",
    "REBASE_HEAD",         "rebase-merge/orig-head",   "rebase-merge/stopped-sha", "rebase-merge/autostash",
    "rebase-apply/orig-head", "rebase-apply/autostash"};

struct Parent {
  std::string what;
  std::string commit;
};

// Makes the one commit for one repository.
class Capture {
 public:
  Capture(Git& git, const CheckoutInfo& checkout, std::string name)
      : git_(git), checkout_(checkout), name_(std::move(name)) {}

  // `nested`: null for the worktree itself.
  Result<std::string> run(const NestedRepository* nested) {
    if (!checkout_.head.empty()) add_parent("HEAD", checkout_.head);
    auto tree = has_files() ? capture_files() : head_tree();
    if (!tree) return tree;
    if (auto held = capture_held_commits(); !held) return held.error();
    if (nested != nullptr) {
      auto tips = find_unpushed_tips(git_, *nested);
      if (!tips) return tips.error();
      for (const std::string& tip : *tips) add_parent("a branch or stash", tip);
    }
    if (auto captured = capture_nested(); !captured) return captured.error();
    if (auto earlier = capture_earlier(); !earlier) return earlier.error();
    return commit(*tree);
  }

 private:
  bool has_files() const { return !checkout_.top.empty(); }

  Result<std::string> ask(const std::vector<std::string>& arguments, Git::Extras extras = {}) const {
    if (!has_files()) {
      extras.variables["GIT_DIR"] = checkout_.git_dir.string();
      extras.variables["GIT_WORK_TREE"] = checkout_.git_dir.string();
    }
    auto output = git_.run_with(has_files() ? checkout_.top : checkout_.git_dir, arguments, extras);
    if (!output) return output.error();
    if (!output->ok()) return git_error(arguments, *output);
    return std::string(trim(output->out));
  }

  void add_parent(std::string_view what, std::string_view commit) {
    if (std::ranges::find(parents_, commit, &Parent::commit) == parents_.end())
      parents_.push_back({std::string(what), std::string(commit)});
  }

  Result<std::string> head_tree() const {
    if (checkout_.head.empty()) return ask({"hash-object", "-t", "tree", "-w", "--stdin"});
    return ask({"rev-parse", checkout_.head + "^{tree}"});
  }

  // The tree of the index as it is; adds a commit of it, where it is not HEAD's.
  Result<std::string> capture_index() {
    auto entries = list_index(git_, checkout_.top);
    if (!entries) return entries.error();
    // A tree has no sides of a conflict.
    constexpr std::array<const char*, 4> kSides{"", "~base", "~ours", "~theirs"};
    for (IndexEntry& entry : *entries) {
      const auto stage = static_cast<std::size_t>(std::exchange(entry.stage, 0));
      if (stage < kSides.size()) entry.path += kSides[stage];
    }
    PrivateIndex index(git_, checkout_);
    if (!entries->empty()) {
      auto filled = index.output({"update-index", "-z", "--index-info"}, index_info(*entries));
      if (!filled) return filled;
    }
    auto tree = index.write_tree();
    if (!tree) return tree;
    auto head = head_tree();
    if (!head) return head;
    if (*tree == *head) return tree;
    std::vector<std::string> arguments{"commit-tree", *tree, "-m", "what was staged in " + name_};
    if (!checkout_.head.empty()) arguments.insert(arguments.end(), {"-p", checkout_.head});
    auto commit = commit_tree(arguments);
    if (!commit) return commit;
    add_parent(kIndex, *commit);
    return tree;
  }

  // The tree of the files as they are. Begins with what is staged: of what is left out of a sparse checkout nothing
  // else is known.
  Result<std::string> capture_files() {
    auto staged = capture_index();
    if (!staged) return staged;
    PrivateIndex index(git_, checkout_);
    if (auto read = index.output({"read-tree", *staged}); !read) return read;
    auto overlooked = list_overlooked(git_, checkout_.top);
    if (!overlooked) return overlooked.error();
    std::string absent;
    for (const OverlookedFile& file : *overlooked) {
      if (!file.is_absent) continue;
      absent += file.path;
      absent += '\0';
    }
    if (!absent.empty()) {
      auto marked = index.output({"update-index", "--skip-worktree", "-z", "--stdin"}, std::move(absent));
      if (!marked) return marked;
    }
    auto nested = find_nested_repositories(git_, checkout_);
    if (!nested) return nested.error();
    nested_ = std::move(*nested);
    std::vector<std::string> add{"add", "--all", "--sparse", "--", "."};
    for (const std::string name : kLeftoverNames) {
      add.push_back(":(exclude,top,glob)**/" + name);
      add.push_back(":(exclude,top,glob)**/" + name + "/**");
    }
    for (const NestedRepository& repository : nested_) {
      // Git would keep nothing of it but the name of its commit, and fail where it has none.
      const bool is_clone = !repository.checkout.top.empty() && !repository.is_tracked;
      if (is_clone) add.push_back(":(exclude,top,literal)" + repository.label);
    }
    if (auto added = index.output(add); !added) return added;
    return index.write_tree();
  }

  Result<void> capture_held_commits() {
    for (const std::string_view file : kHeldCommits) {
      const auto content = read_file(checkout_.git_dir / file);
      if (!content) continue;  // the operation is not in progress
      for (const std::string_view line : split(*content, '\n')) {
        const std::string_view hash = line.substr(0, line.find_first_of(" \t"));
        if (hash.empty()) continue;
        auto commit = ask({"rev-parse", "--verify", "--quiet", "--end-of-options", std::string(hash) + "^{commit}"});
        if (commit) add_parent(file, *commit);
      }
    }
    return {};
  }

  Result<void> capture_nested() {
    if (!has_files()) {
      auto nested = find_nested_repositories(git_, checkout_);
      if (!nested) return nested.error();
      nested_ = std::move(*nested);
    }
    for (const NestedRepository& repository : nested_) {
      auto work = list_nested_work(git_, repository);
      if (!work) return work.error();
      if (work->empty()) continue;
      Capture inner(git_, repository.checkout, name_);
      auto commit = inner.run(&repository);
      if (!commit) return std::move(commit).error().with_context("keep " + printable(repository.label));
      if (auto taken = take_over(inner, *commit); !taken) return taken;
      add_parent(printable(repository.label), *commit);
    }
    return {};
  }

  // Its objects, into ours: its git directory goes with the worktree.
  Result<void> take_over(const Capture& inner, const std::string& commit) const {
    const std::string reference = std::string(kRecoveryPrefix) + name_;
    if (inner.checkout_.repository == checkout_.repository) return {};
    if (auto named = inner.ask({"update-ref", reference, commit}); !named) return named.error();
    Git::Extras extras;
    extras.limit = kFetchLimit;
    auto fetched = ask({"-c", "protocol.file.allow=always", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
                        "--no-auto-gc", "--recurse-submodules=no", "--update-shallow",
                        inner.checkout_.repository.string(), reference},
                       extras);
    if (!fetched) return fetched.error();
    return {};
  }

  // A destruction that did not come to its end may have left one.
  Result<void> capture_earlier() {
    auto earlier = ask({"for-each-ref", "--format=%(objectname)", std::string(kRecoveryPrefix) + name_});
    if (!earlier) return earlier.error();
    if (!earlier->empty()) add_parent("kept earlier", *earlier);
    return {};
  }

  Result<std::string> commit_tree(const std::vector<std::string>& arguments) const {
    Git::Extras extras;
    extras.variables = own_identity();
    return ask(arguments, extras);
  }

  Result<std::string> commit(const std::string& tree) const {
    std::string message = "what was in worktree " + name_ + " when it was destroyed\n";
    std::vector<std::string> arguments{"commit-tree", tree};
    int number = 0;
    for (const Parent& parent : parents_) {
      message += "\nparent " + std::to_string(++number) + ": " + parent.what;
      arguments.insert(arguments.end(), {"-p", parent.commit});
    }
    arguments.insert(arguments.end(), {"-m", message});
    return commit_tree(arguments);
  }

  Git& git_;
  const CheckoutInfo& checkout_;
  std::string name_;
  std::vector<Parent> parents_;
  std::vector<NestedRepository> nested_;
};

}  // namespace

Result<std::string> keep_recoverable(Git& git, const fs::path& top, const std::string& name) {
  auto info = inspect_exactly(git, top);
  if (!info) return info.error();
  auto commit = Capture(git, *info, name).run(nullptr);
  if (!commit) return commit;
  const std::string reference = std::string(kRecoveryPrefix) + name;
  auto updated = git.output(top, {"update-ref", reference, *commit});
  if (!updated) return updated.error();
  return reference;
}

}  // namespace hedge::worktree
