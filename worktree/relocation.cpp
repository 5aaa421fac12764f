#include "worktree/relocation.h"

#include <utility>

#include "base/file.h"
#include "worktree/git/checkout_info.h"
#include "worktree/identity.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

WorktreeRecord find_moved(Git& git, WorktreeRecord record) {
  if (record.kind == WorktreeKind::main || record.git_dir.empty()) return record;
  if (named_git_dir(record.path) == record.git_dir || !path_exists(record.git_dir)) return record;
  // The git directory's name proves nothing: git gives it to the next worktree of the same name.
  const auto identity = load_identity(record.git_dir);
  if (!identity || *identity != record.id) return record;
  const auto worktrees = list_worktrees(git, record.repository);
  if (!worktrees) return record;
  for (const ListedWorktree& worktree : *worktrees) {
    if (named_git_dir(worktree.path) == record.git_dir) record.path = worktree.path;
  }
  return record;
}

Result<WorktreeRecord> follow_moved(Git& git, Registry& registry, const WorktreeRecord& record) {
  WorktreeRecord moved = find_moved(git, record);
  if (moved.path == record.path) return moved;
  if (auto followed = registry.set_place(record, moved); !followed) return followed.error();
  return moved;
}

WorktreeRecord moved_with(WorktreeRecord record, const RepositoryPlace& now) {
  const fs::path inside = record.git_dir.lexically_relative(record.repository);
  const bool is_below = !inside.empty() && *inside.begin() != "..";
  if (is_below) record.git_dir = (now.repository / inside).lexically_normal();
  if (record.git_dir.filename() == ".") record.git_dir = now.repository;
  record.repository = now.repository;
  record.main_checkout = now.main_checkout;
  return record;
}

}  // namespace hedge::worktree
