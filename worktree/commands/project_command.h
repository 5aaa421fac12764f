// One command of the repository as a Resource: due or not, run, and nothing to remove.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "worktree/commands/wrapper.h"
#include "worktree/resource.h"

namespace hedge::worktree {

struct ProjectCommandSpec {
  std::string name;                         // "install" or "migrate"
  std::vector<std::string> argv;
  std::vector<std::string> check;           // exit code 0: not due; empty: none
  std::vector<std::string> lockfiles;       // relative to the checkout; empty: due whatever they hold
  std::filesystem::path checkout;
  std::filesystem::path main_checkout;      // empty: none
  std::filesystem::path stamp;              // of the lockfiles; empty: none
  std::filesystem::path main_stamp;
  std::vector<std::string> seedable;        // configured paths that worktrees get from main, relative to the checkout
  std::vector<std::string> seeded;          // those of them that main has
  WrapperPlace place;
  std::chrono::milliseconds limit{1800000};  // of one run
};

class ProjectCommand final : public Resource {
 public:
  // Lifetime: `runner` and `stacks` outlive the resource.
  ProjectCommand(ProjectCommandSpec spec, Environment environment, CommandRunner& runner, const ResourceKind& stacks);

  std::string kind() const override { return "command"; }
  std::string name() const override { return spec_.name; }
  bool lives_in_checkout() const override { return true; }
  Result<Finding> check() override;
  Result<Change> converge() override;
  // A command's effects go with the checkout and the database.
  Result<Change> remove() override;

 private:
  Result<Finding> check_stamp();
  Result<Finding> check_by_command();
  // Empty, if the checkout has none of the lockfiles.
  Result<std::string> lockfiles_summary(const std::filesystem::path& checkout) const;
  Result<std::string> lockfiles_digest(const std::filesystem::path& checkout) const;
  // With what the installation made; in a worktree nobody asks for that.
  Result<void> write_stamp(const std::vector<std::string>& made) const;
  bool is_main() const { return spec_.main_stamp == spec_.stamp; }
  Result<CommandOutput> run_and_stamp();
  // Of an installation in main. Empty, if it is not known.
  std::vector<std::string> find_made(const Result<timespec>& began) const;
  bool is_copy_of_main(const std::string& digest) const;

  ProjectCommandSpec spec_;
  Environment environment_;
  CommandRunner& runner_;
  Wrapper wrapper_;
};

}  // namespace hedge::worktree
