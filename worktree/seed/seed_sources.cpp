#include "worktree/seed/seed_sources.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "worktree/seed/obstacle.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxIncluded = 10000;
constexpr int kNothingIgnored =
    1;  // git-check-ignore(1): exit code 1 means that none of the paths is ignored

std::string nul_separated(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) {
    out += path;
    out += '\0';
  }
  return out;
}

std::vector<std::string> from_nul_separated(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view path : split(text, '\0')) {
    if (!path.empty()) out.emplace_back(path);
  }
  return out;
}

Result<std::vector<std::string>> keep_ignored(Git& git, const fs::path& top,
                                              const std::vector<std::string>& paths) {
  if (paths.empty()) return paths;
  Git::Extras extras;
  extras.input = nul_separated(paths);
  const std::vector<std::string> arguments{"check-ignore", "-z", "--stdin"};
  const auto output = git.run_with(top, arguments, extras);
  if (!output) return output.error();
  if (!output->ok() && output->exit_code != kNothingIgnored) return git_error(arguments, *output);
  return from_nul_separated(output->out);
}

bool is_below(std::string_view path, const std::vector<std::string>& directories) {
  return std::ranges::any_of(directories, [path](const std::string& directory) {
    return path == directory ||
           (path.starts_with(directory) && path.substr(directory.size()).starts_with('/'));
  });
}

}  // namespace

bool stays_inside(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return !path.empty() && path.is_relative() && normal != "." && *normal.begin() != "..";
}

Result<std::vector<std::string>> find_seed_paths(Git& git, const fs::path& main_checkout,
                                                 const std::vector<std::string>& wanted) {
  std::vector<std::string> existing;
  std::vector<std::string> unreachable;
  for (const std::string& path : wanted) {
    if (!stays_inside(path)) {
      return Error(ErrorKind::invalid_input, "seed path \"" + printable(path) + "\" leaves the checkout")
          .with_id("seed_path_invalid");
    }
    std::string normal = fs::path(path).lexically_normal().string();
    if (normal.ends_with('/')) normal.pop_back();
    if (!path_exists(main_checkout / normal)) continue;
    // Git refuses to say anything about those.
    const bool is_own = find_obstacle(main_checkout, normal).empty();
    (is_own ? existing : unreachable).push_back(std::move(normal));
  }
  auto found = keep_ignored(git, main_checkout, existing);
  if (found) found->insert(found->end(), unreachable.begin(), unreachable.end());
  return found;
}

Result<std::vector<std::string>> find_included_files(Git& git, const fs::path& main_checkout,
                                                     const std::string& include_file,
                                                     const std::vector<std::string>& seed_paths) {
  if (include_file.empty() || !path_exists(main_checkout / include_file)) return std::vector<std::string>();
  auto text = git.output(main_checkout, {"ls-files", "-z", "--others", "--ignored",
                                         "--exclude-from=" + (main_checkout / include_file).string()});
  if (!text) return text.error();
  std::vector<std::string> matching = from_nul_separated(*text);
  std::erase_if(matching, [&seed_paths](const std::string& path) { return is_below(path, seed_paths); });
  if (matching.size() > kMaxIncluded) {
    return Error(ErrorKind::invalid_input, include_file + " matches " + std::to_string(matching.size()) +
                                               " files, more than " + std::to_string(kMaxIncluded))
        .with_id("seed_too_many")
        .with_hint("name whole directories in seed.paths instead");
  }
  return keep_ignored(git, main_checkout, matching);
}

std::vector<std::string> differing_lockfiles(const fs::path& main_checkout, const fs::path& worktree,
                                             const std::vector<std::string>& lockfiles) {
  std::vector<std::string> out;
  for (const std::string& lockfile : lockfiles) {
    const auto ours = read_file(worktree / lockfile);
    const auto mains = read_file(main_checkout / lockfile);
    if (!ours && !mains) continue;
    if (!ours || !mains || *ours != *mains) out.push_back(lockfile);
  }
  return out;
}

}  // namespace hedge::worktree
