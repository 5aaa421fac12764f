// Wires everything, each piece when it is first asked for.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "base/subprocess.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "config/paths.h"
#include "router/route_store.h"

namespace hedge::cli {

class Manager;

class Services {
 public:
  // Lifetime: `output` and `runner` outlive it.
  Services(GlobalOptions options, Environment environment, Output& output, CommandRunner& runner);
  ~Services();
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  const GlobalOptions& options() const { return options_; }
  // The caller's, as it was when the program started.
  const Environment& environment() const { return environment_; }
  Output& output() { return output_; }
  const Clock& clock() const { return clock_; }
  CommandRunner& runner() { return runner_; }

  // Where the caller stands: -C, made absolute. Errors: not_found `directory_missing`.
  Result<std::filesystem::path> directory() const;

  // Where things are: --state-dir, else HEDGE_STATE_DIR, else `state_dir` of the user-wide settings file, else the default.
  // Creates nothing. Errors: `config_invalid`, if that file decides and cannot be read; those of config::find_paths().
  Result<config::Paths> paths();
  // As paths(), with the state and runtime directories made.
  Result<config::Paths> writable_paths();

  // The route store, opened (and made) on first use. Lifetime: as long as the Services.
  Result<router::RouteStore*> routes();

  // The worktree manager, likewise. Errors: `state_unreadable`, `disk_full`.
  Result<Manager*> manager();

 private:
  Result<config::Paths> find_paths() const;

  GlobalOptions options_;
  Environment environment_;
  Output& output_;
  SystemClock clock_;
  CommandRunner& runner_;
  std::optional<config::Paths> paths_;
  std::unique_ptr<router::RouteStore> routes_;
  std::unique_ptr<Manager> manager_;  // uses all of the above
};

}  // namespace hedge::cli
