#include "worktree/seed/obstacle.h"

#include <system_error>

#include "base/file.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxGitFile = 8192;

}  // namespace

std::string find_obstacle(const fs::path& root, const fs::path& path) {
  fs::path relative;
  for (const fs::path& step : path.lexically_normal().parent_path()) {
    relative /= step;
    std::error_code failure;
    const fs::file_type type = fs::symlink_status(root / relative, failure).type();
    if (type == fs::file_type::not_found) return {};
    if (type == fs::file_type::symlink) return relative.string() + " is a symbolic link";
    if (type != fs::file_type::directory) return relative.string() + " is no directory";
    if (path_exists(root / relative / ".git")) return relative.string() + " is a repository of its own";
  }
  return {};
}

bool is_nested_worktree(const fs::path& directory) {
  const auto content = read_file(directory / ".git", kMaxGitFile);
  return content && content->starts_with("gitdir: ") && content->find("/worktrees/") != std::string::npos;
}

}  // namespace hedge::worktree
