// An index of our own beside a checkout's: what is staged there, and what git was told to overlook, stays as it is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/git/checkout_info.h"
#include "worktree/git/git.h"

namespace hedge::worktree {

class PrivateIndex {
 public:
  // Empty. Lifetime: `git` outlives it; its file goes with it.
  PrivateIndex(Git& git, const CheckoutInfo& checkout);
  PrivateIndex(const PrivateIndex&) = delete;
  PrivateIndex& operator=(const PrivateIndex&) = delete;
  ~PrivateIndex();

  // Runs git with this index at the checkout's top level. A non-zero exit is a value.
  Result<CommandOutput> run(std::vector<std::string> arguments, std::string input = {});
  // As run(), but a non-zero exit is an error `git_failed`. Returns standard output untrimmed.
  Result<std::string> output(const std::vector<std::string>& arguments, std::string input = {});
  // The tree of what is in it.
  Result<std::string> write_tree();

 private:
  Git& git_;
  std::filesystem::path top_;
  std::filesystem::path file_;
};

// One entry of a checkout's index.
struct IndexEntry {
  std::string mode;  // "160000": a submodule
  std::string object;
  int stage = 0;  // other than 0: one side of a conflict
  std::string path;
  bool is_submodule() const { return mode == "160000"; }
};

// Everything in the checkout's own index. Source: git-ls-files(1), --stage.
Result<std::vector<IndexEntry>> list_index(Git& git, const std::filesystem::path& top);
// What is neither in the index nor ignored; a repository of its own ends in "/".
Result<std::vector<std::string>> list_untracked(Git& git, const std::filesystem::path& top);
// `entries` as `git update-index -z --index-info` reads them.
std::string index_info(const std::vector<IndexEntry>& entries);

// Files of the checkout that git was told not to look at. Source: git-update-index(1), --skip-worktree and
// --assume-unchanged; git-ls-files(1), -v.
struct OverlookedFile {
  std::string path;
  bool is_absent = false;  // left out of a sparse checkout
};
Result<std::vector<OverlookedFile>> list_overlooked(Git& git, const std::filesystem::path& top);

}  // namespace hedge::worktree
