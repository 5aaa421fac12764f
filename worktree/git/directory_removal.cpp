#include "worktree/git/directory_removal.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

Error not_removable(const fs::path& path, int number) {
  return Error::from_errno(number, "remove what is in " + path.string())
      .with_id("files_not_removable")
      .with_hint("files of another user, written by a container, are in the way; nothing has been removed");
}

}  // namespace

fs::path doomed_path(const fs::path& path, std::string_view id) {
  return path.parent_path() / (".hedge-removing-" + std::string(id));
}

// Entries go if their directory can be written and searched.
Result<void> require_removable(const fs::path& root) {
  std::error_code failure;
  const auto check = [](const fs::path& directory) -> Result<void> {
    if (::access(directory.c_str(), W_OK | X_OK | R_OK) == 0) return {};
    const int number = errno;
    if (::chmod(directory.c_str(), 0700) == 0) return {};
    return not_removable(directory, number);
  };
  if (auto fine = check(root); !fine) return fine;
  fs::recursive_directory_iterator walk(root, failure);
  for (; !failure && walk != fs::recursive_directory_iterator(); walk.increment(failure)) {
    std::error_code unknown;
    if (!fs::is_directory(walk->symlink_status(unknown))) continue;
    if (auto fine = check(walk->path()); !fine) return fine;
  }
  if (failure) return not_removable(root, failure.value());
  return {};
}

Result<void> move_aside(const fs::path& path, const fs::path& doomed) {
  if (auto removable = require_removable(path); !removable) return removable;
  if (auto removed = remove_tree(doomed); !removed) return removed;
  if (::rename(path.c_str(), doomed.c_str()) == 0) return {};
  return Error::from_errno(errno, "move " + path.string() + " aside");
}

}  // namespace hedge::worktree
