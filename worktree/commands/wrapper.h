// Runs a command where the worktree's application runs: on the host with the worktree's environment, or inside one of its
// containers.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "worktree/env_file.h"
#include "worktree/record.h"
#include "worktree/resource_kind.h"

namespace hedge::worktree {

// The container to run in.
struct ServicePlace {
  ResourceSpec stack;  // of a compose stack
  WorktreeRecord record;
  std::string service;
};

struct WrapperPlace {
  std::filesystem::path directory;       // to run in, on the host; must exist
  Environment variables;                 // the worktree's own, secrets expanded; they win over what is inherited
  std::optional<ServicePlace> service;   // absent: on the host
  std::string withheld;                  // a variable of the caller's that the command must not have; empty: none
};

// What plan_variables() gave, as an environment, with secrets expanded. Keep it out of plans, logs and argv.
Environment expand_variables(const PlannedVariables& variables, const WorktreeRecord& record);

enum class Terminal { none, attached };

class Wrapper {
 public:
  // `environment`: the caller's. `stacks` makes the stack whose container is meant. Lifetime: all three outlive the wrapper.
  Wrapper(CommandRunner& runner, const Environment& environment, const ResourceKind& stacks)
      : runner_(runner), environment_(environment), stacks_(stacks) {}

  // Runs to the end, standard input empty. Errors: see run_command(); those of ComposeStack::command_in().
  Result<CommandOutput> run(const WrapperPlace& place, const std::vector<std::string>& argv,
                            std::chrono::milliseconds limit) const;
  // What to start for a person, with streams inherited. Inside a container a terminal is made only with Terminal::attached.
  Result<CommandLine> command_line(const WrapperPlace& place, const std::vector<std::string>& argv, Terminal terminal) const;

 private:
  CommandRunner& runner_;
  const Environment& environment_;
  const ResourceKind& stacks_;
};

}  // namespace hedge::worktree
