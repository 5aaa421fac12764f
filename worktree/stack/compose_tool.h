// Docker Compose, whichever generation is installed, called so that nothing inherited can change what it
// works on.
#pragma once

#include <chrono>
#include <compare>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"

namespace hedge::worktree {

struct ComposeVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const ComposeVersion&) const = default;
};

// "1.29.2", "v2.26.1-ds1", "2.31.0": what `version --short` prints, also after a line of warnings.
Result<ComposeVersion> parse_compose_version(std::string_view text);

struct ComposeProject {
  std::string name;                          // empty: what Compose derives (the main checkout's own stack)
  std::filesystem::path directory;           // the project directory
  std::vector<std::filesystem::path> files;  // at least one
};

class ComposeTool {
 public:
  // The plugin (`docker compose`) if it is there, else `docker-compose`.
  // Errors: not_found `compose_not_installed`, unsupported `compose_too_old` (below 1.29, or below 2.0.0
  // final), io `compose_failed` (it is there and does not say its version), timed_out.
  static Result<ComposeTool> detect(CommandRunner& runner, const Environment& environment);

  const ComposeVersion& version() const { return version_; }

  // Runs one verb on `project`, with -p, every -f and --project-directory.
  // Errors: io `compose_failed`, with the end of what it said; timed_out.
  Result<std::string> run(const ComposeProject& project, const std::vector<std::string>& verb,
                          std::chrono::milliseconds limit) const;
  // The command line that run() would use; for `hedge compose` and `hedge run`.
  CommandLine command(const ComposeProject& project, const std::vector<std::string>& verb) const;

 private:
  ComposeTool(CommandRunner& runner, Environment environment, std::vector<std::string> program,
              ComposeVersion version);
  CommandRunner* runner_;
  Environment environment_;  // scrubbed
  std::vector<std::string> program_;
  ComposeVersion version_;
};

// The compose files of a checkout: the configured ones, or the first default name that exists (with its
// override file). Errors: not_found `compose_file_missing`.
Result<std::vector<std::filesystem::path>> find_compose_files(const std::filesystem::path& checkout,
                                                              const std::vector<std::string>& configured);

}  // namespace hedge::worktree
