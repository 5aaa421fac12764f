#include "worktree/commands/install_results.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxFiles = 2000000;

bool is_real_directory(const fs::path& path) {
  std::error_code unknown;
  return fs::is_directory(fs::symlink_status(path, unknown));
}

Error unreadable(const fs::path& path, const std::string& why) {
  return {ErrorKind::io, "cannot read " + path.string() + ": " + why};
}

bool is_at_or_after(const timespec& time, const timespec& since) {
  return time.tv_sec != since.tv_sec ? time.tv_sec > since.tv_sec : time.tv_nsec >= since.tv_nsec;
}

// The time of the last change of the inode, which no program can set back as it can the file's own time.
Result<bool> has_changed(const fs::path& path, const timespec& since) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) return is_at_or_after(facts.st_ctim, since);
  if (errno == ENOENT) return false;  // gone meanwhile; its directory has changed
  return unreadable(path, std::strerror(errno));
}

class Survey {
 public:
  explicit Survey(const timespec& since) : since_(since) {}

  Result<bool> has_changed_below(const fs::path& path) {
    auto changed = has_changed(path, since_);
    if (!changed || *changed || !is_real_directory(path)) return changed;
    std::error_code problem;
    fs::recursive_directory_iterator entry(path, problem);
    for (const fs::recursive_directory_iterator end; !problem && entry != end; entry.increment(problem)) {
      if (++files_ > kMaxFiles) {
        return Error(ErrorKind::unsupported, "more than " + std::to_string(kMaxFiles) + " untracked files");
      }
      changed = has_changed(entry->path(), since_);
      if (!changed || *changed) return changed;
    }
    if (problem && problem != std::errc::no_such_file_or_directory) return unreadable(path, problem.message());
    return false;
  }

 private:
  timespec since_;
  std::size_t files_ = 0;
};

bool leads_to_any(const std::string& path, const std::vector<std::string>& below) {
  return std::ranges::any_of(below, [&path](const std::string& one) {
    return one.size() > path.size() + 1 && one.starts_with(path + "/");  // "path/" is the directory itself
  });
}

// `path`, or what is in it where some of `divided` are.
Result<void> divide(const fs::path& checkout, const std::string& path, const std::vector<std::string>& divided,
                    std::vector<std::string>& out) {
  if (!leads_to_any(path, divided) || !is_real_directory(checkout / path)) {
    out.push_back(path);
    return {};
  }
  std::error_code problem;
  for (fs::directory_iterator entry(checkout / path, problem), end; !problem && entry != end; entry.increment(problem)) {
    if (auto done = divide(checkout, path + "/" + entry->path().filename().string(), divided, out); !done) return done;
  }
  if (problem) return unreadable(checkout / path, problem.message());
  return {};
}

Result<std::vector<std::string>> untracked_paths(Git& git, const fs::path& checkout,
                                                 const std::vector<std::string>& divided) {
  // Without any exclude rule: ignored ones are among them.
  const auto text = git.output(checkout, {"ls-files", "-z", "--others", "--directory"});
  if (!text) return text.error();
  std::vector<std::string> out;
  for (std::string_view path : split(*text, '\0')) {
    if (path.ends_with('/')) path.remove_suffix(1);
    if (path.empty()) continue;
    if (auto done = divide(checkout, std::string(path), divided, out); !done) return done.error();
  }
  return out;
}

}  // namespace

Result<timespec> file_system_time(const fs::path& directory) {
  const fs::path mark = directory / "hedge-moment";
  if (auto written = write_file_atomically(mark, "", 0600); !written) return written.error();
  struct stat facts {};
  const int failed = ::lstat(mark.c_str(), &facts) == 0 ? 0 : errno;
  if (auto gone = remove_file(mark); !gone) return gone.error();
  if (failed != 0) return unreadable(mark, std::strerror(failed));
  return facts.st_ctim;
}

Result<std::vector<std::string>> find_changed(Git& git, const fs::path& checkout, const timespec& since,
                                              const std::vector<std::string>& divided) {
  const auto paths = untracked_paths(git, checkout, divided);
  if (!paths) return paths;
  std::vector<std::string> unchanged;
  std::vector<std::string> out;
  std::set<fs::path> names;
  Survey survey(since);
  for (const std::string& path : *paths) {
    const auto changed = survey.has_changed_below(checkout / path);
    if (!changed) return changed.error();
    (*changed ? out : unchanged).push_back(path);
    if (*changed) names.insert(fs::path(path).filename());
  }
  std::ranges::copy_if(unchanged, std::back_inserter(out),
                       [&names](const std::string& path) { return names.contains(fs::path(path).filename()); });
  std::ranges::sort(out);
  return out;
}

}  // namespace hedge::worktree
