#include "worktree/seed/denied_values.h"

#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "worktree/seed/obstacle.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

// `pattern` with `*` for any text, anywhere in `line`. Requires: both in lower case.
bool occurs(std::string_view line, std::string_view pattern) {
  for (const std::string_view piece : split(pattern, '*')) {
    const auto at = line.find(piece);
    if (at == std::string_view::npos) return false;
    line.remove_prefix(at + piece.size());
  }
  return true;
}

bool is_environment_file(const fs::path& file) {
  const std::string name = ascii_lower(file.filename().string());
  return name.starts_with(".env") || name.ends_with(".env");
}

class Search {
 public:
  Search(const fs::path& root, const std::vector<std::string>& patterns) : root_(root), patterns_(patterns) {}

  // Empty: nothing at or below `path` is denied.
  std::string visit(const fs::path& path) const {
    std::error_code failure;
    const fs::file_type type = fs::symlink_status(root_ / path, failure).type();
    if (type == fs::file_type::directory) {
      return is_nested_worktree(root_ / path) ? std::string() : visit_directory(path);
    }
    // A link is copied as a link, and an application reads through it.
    const bool is_readable = type == fs::file_type::regular || type == fs::file_type::symlink;
    return is_readable && is_environment_file(path) ? visit_file(path) : std::string();
  }

 private:
  std::string visit_directory(const fs::path& directory) const {
    std::error_code failure;
    for (fs::directory_iterator child(root_ / directory, failure);
         !failure && child != fs::directory_iterator(); child.increment(failure)) {
      const fs::path name = child->path().filename();
      std::error_code ignored;
      // The listing tells what is a directory: most of a dependency tree is neither that nor an environment file.
      const bool is_worth_a_look =
          is_environment_file(name) || child->symlink_status(ignored).type() == fs::file_type::directory;
      if (!is_worth_a_look) continue;
      std::string denied = visit(directory / name);
      if (!denied.empty()) return denied;
    }
    return failure ? unreadable(directory) : std::string();
  }

  std::string visit_file(const fs::path& file) const {
    std::error_code failure;
    const fs::file_type type = fs::status(root_ / file, failure).type();
    if (type == fs::file_type::not_found) return {};  // a dangling link
    if (type != fs::file_type::regular)
      return type == fs::file_type::directory ? std::string() : unreadable(file);
    const auto content = read_file(root_ / file);
    if (!content) return unreadable(file);
    int number = 0;
    for (const std::string_view line : split(*content, '\n')) {
      ++number;
      const std::string lower = ascii_lower(line);
      for (const std::string& pattern : patterns_) {
        if (occurs(lower, ascii_lower(pattern)))
          return file.string() + ":" + std::to_string(number) + " matches " + pattern;
      }
    }
    return {};
  }

  static std::string unreadable(const fs::path& path) {
    return path.string() + " cannot be read, and might match seed.deny";
  }

  const fs::path& root_;
  const std::vector<std::string>& patterns_;
};

}  // namespace

std::string find_denied(const fs::path& root, const std::vector<std::string>& paths,
                        const std::vector<std::string>& patterns) {
  if (patterns.empty()) return {};
  for (const std::string& path : paths) {
    std::string denied = Search(root, patterns).visit(path);
    if (!denied.empty()) return denied;
  }
  return {};
}

}  // namespace hedge::worktree
