// Runs git: one place that knows its environment, its limits and how it fails. Only machine formats are ever
// parsed.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"

namespace hedge::worktree {

class Git {
 public:
  // `environment`: the caller's; what would lead to another repository is taken out of it.
  Git(CommandRunner& runner, Environment environment);

  // Runs `git -C directory arguments…`. A non-zero exit is a value.
  // Errors: not_found `git_unavailable`; not_found `path_missing`, if the directory is gone; timed_out.
  Result<CommandOutput> run(const std::filesystem::path& directory, std::vector<std::string> arguments);
  // As run(), but a non-zero exit is an error `git_failed` with git's own last words. Returns standard output
  // untrimmed.
  Result<std::string> output(const std::filesystem::path& directory, std::vector<std::string> arguments);
  // The first line of output().
  Result<std::string> line(const std::filesystem::path& directory, std::vector<std::string> arguments);
  // Unusual needs of one call.
  struct Extras {
    Environment variables;       // on top of the environment, such as GIT_INDEX_FILE
    std::string input;           // on standard input
    std::vector<int> inherited;  // descriptors that git keeps open
    std::chrono::milliseconds limit = std::chrono::seconds(60);
    std::size_t max_output_bytes = 16UL << 20;  // of each stream; `truncated` says that there was more
  };
  Result<CommandOutput> run_with(const std::filesystem::path& directory, std::vector<std::string> arguments,
                                 const Extras& extras);

  const Environment& environment() const { return environment_; }

 private:
  CommandRunner& runner_;
  Environment environment_;
};

// `git_failed`, with the tail of standard error as its text.
Error git_error(const std::vector<std::string>& arguments, const CommandOutput& output);

}  // namespace hedge::worktree
