// Suggested commands as they have to be typed from where the caller stands: the catalogue knows `hedge create`, only a result
// knows of which worktree.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "contract/result.h"

namespace hedge::contract {

// How the caller reached the worktree that a result is about.
struct CallerPlace {
  bool has_named_worktree = false;   // on the command line; else it is the checkout of the directory
  std::filesystem::path directory;   // -C, absolute; empty: the caller's current one
  std::filesystem::path state_dir;   // --state-dir; empty: not given
};

// `command` with what selects its worktree: `hedge create` becomes `hedge create feature/x`, or `hedge -C PATH create` where a
// branch would not mean the same (an instance, an adopted worktree). Words are quoted for a shell where that is needed.
// `workspace` may be null: nothing is known but the caller's place.
std::string address_command(std::string_view command, const WorkspaceFacts* workspace, const CallerPlace& caller);

// Every command that `result` suggests.
void address_commands(ContractResult& result, const CallerPlace& caller);

}  // namespace hedge::contract
