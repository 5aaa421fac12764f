// What the registry remembers of one worktree. Decided at birth; everything later reads it and derives
// nothing anew.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace hedge::worktree {

enum class WorktreeKind { linked, main };
// `creating`: a run has begun and not yet reported ready. `destroying`: something of it may still exist.
enum class WorktreeState { creating, ready, destroying };
// Who made the branch. One that the birth made (`ours`) goes with the worktree if nothing was committed on
// it, one that was there (`existing`) only if it has moved and is integrated, any other (`none`: adopted,
// switched to) never.
enum class BranchOrigin { ours, existing, none };
enum class StackWish { with_stack, without_stack };

struct WorktreeRecord {
  std::string id;
  WorktreeKind kind = WorktreeKind::linked;
  WorktreeState state = WorktreeState::creating;
  std::string app;       // as configured
  std::string slug;      // empty for the main checkout
  std::string instance;  // empty: none
  std::string branch;    // at birth (empty: detached); the branch now is git's to tell
  BranchOrigin branch_origin = BranchOrigin::existing;
  std::string upstream;                 // the remote whose branch of the same name is tracked; empty: none
  std::string base;                     // the commit that it started from; full hash
  std::filesystem::path repository;     // canonical git common dir
  std::filesystem::path main_checkout;  // canonical; empty for a bare repository
  std::filesystem::path path;           // canonical; the checkout's top level
  std::filesystem::path git_dir;        // canonical; empty until the checkout exists
  StackWish stack = StackWish::with_stack;
  std::string nonce;   // public, random: proves that host and container see the same tree
  std::string secret;  // 32 random bytes in hex; passwords are derived from it and it never leaves the state
                       // directory
  WallTime created_at{};
  WallTime last_used_at{};
};

std::string_view to_string(WorktreeKind kind);
std::string_view to_string(WorktreeState state);
std::string_view to_string(BranchOrigin origin);
Result<WorktreeKind> parse_worktree_kind(std::string_view text);
Result<WorktreeState> parse_worktree_state(std::string_view text);
Result<BranchOrigin> parse_branch_origin(std::string_view text);

// A password for one purpose ("postgres"): 32 characters [0-9a-z], stable for the worktree's life, needing no
// escape anywhere.
std::string derive_secret(const WorktreeRecord& record, std::string_view purpose);

}  // namespace hedge::worktree
