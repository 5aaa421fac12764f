#include "worktree/git/leftovers.h"

#include <algorithm>

#include <fnmatch.h>

#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

bool is_leftover(const fs::path& path) {
  return std::ranges::any_of(path, [](const fs::path& step) {
    return std::ranges::any_of(
        kLeftoverNames, [&step](const char* pattern) { return ::fnmatch(pattern, step.c_str(), 0) == 0; });
  });
}

Result<void> hide_leftovers(const fs::path& repository) {
  const fs::path excludes = repository / "info" / "exclude";
  auto content = read_file(excludes);
  if (!content && content.error().kind() != ErrorKind::not_found) return content.error();
  std::string text = content ? std::move(*content) : std::string();
  std::string added;
  {
    const auto lines = split(text, '\n');
    for (const char* name : kLeftoverNames) {
      if (std::ranges::find(lines, name) == lines.end()) added += std::string(name) + "\n";
    }
  }
  if (added.empty()) return {};
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (auto ready = ensure_directory(excludes.parent_path()); !ready) return ready;
  return write_file_atomically(excludes, text + added, 0644);
}

}  // namespace hedge::worktree
