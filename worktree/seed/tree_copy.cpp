#include "worktree/seed/tree_copy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/unique_fd.h"
#include "worktree/git/leftovers.h"
#include "worktree/seed/file_copy.h"
#include "worktree/seed/obstacle.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxReported = 100;
constexpr mode_t kPermissions = 07777;
constexpr int kNoDescriptor = -1;

struct Entry {
  fs::path source;
  fs::path target;
  struct stat info {};
};

Error system_error(const char* doing, const fs::path& path) {
  const int number = errno;
  Error error = Error::from_errno(number, std::string(doing) + " " + path.string());
  if (error.kind() == ErrorKind::no_space) return std::move(error).with_id("disk_full");
  return error;
}

class Copier {
 public:
  Copier(const TreeCopy& copy, fs::path target) : copy_(copy), target_(std::move(target)) {}

  Result<CopyReport> run() {
    const auto started = std::chrono::steady_clock::now();
    if (auto done = visit(copy_.source_root / copy_.path, target_, fs::path(copy_.path)); !done)
      return done.error();
    if (auto room = require_room(); !room) return room.error();
    if (auto done = copy_files(); !done) return done.error();
    // Children first: filling a directory changes its time, and a read-only one cannot be filled.
    for (auto directory = directories_.rbegin(); directory != directories_.rend(); ++directory) {
      if (auto done = finish(directory->target, directory->info, kNoDescriptor); !done) return done.error();
    }
    report_.files = files_.size();
    report_.reflinked = reflinked_;
    report_.took =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started);
    return std::move(report_);
  }

 private:
  Result<void> visit(const fs::path& source, const fs::path& target, const fs::path& relative) {
    Entry entry{source, target, {}};
    if (::lstat(source.c_str(), &entry.info) != 0) return system_error("look at", source);
    if (std::ranges::find(copy_.excluded, relative.lexically_normal().string()) != copy_.excluded.end()) {
      report(report_.skipped, relative);
      return {};
    }
    if (S_ISLNK(entry.info.st_mode)) return copy_link(entry, relative);
    if (S_ISREG(entry.info.st_mode)) {
      report_.bytes += static_cast<std::uint64_t>(entry.info.st_size);
      files_.push_back(std::move(entry));
      return {};
    }
    if (!S_ISDIR(entry.info.st_mode) || is_nested_worktree(source)) {
      report(report_.skipped, relative);
      return {};
    }
    if (::mkdir(target.c_str(), 0700) != 0) return system_error("make", target);
    directories_.push_back(entry);
    std::error_code failure;
    for (fs::directory_iterator child(source, failure); !failure && child != fs::directory_iterator();
         child.increment(failure)) {
      const fs::path name = child->path().filename();
      if (auto done = visit(source / name, target / name, relative / name); !done) return done;
    }
    if (failure) return Error::from_errno(failure.value(), "list " + source.string());
    return {};
  }

  Result<void> copy_link(const Entry& entry, const fs::path& relative) {
    std::error_code failure;
    const fs::path destination = fs::read_symlink(entry.source, failure);
    if (failure) return Error::from_errno(failure.value(), "read link " + entry.source.string());
    const fs::path normal = (relative.parent_path() / destination).lexically_normal();
    if (destination.is_absolute() || *normal.begin() == "..") {
      report(report_.links_outside, relative.string() + " -> " + destination.string());
    }
    if (::symlink(destination.c_str(), entry.target.c_str()) != 0) return system_error("link", entry.target);
    const std::array<timespec, 2> times{entry.info.st_atim, entry.info.st_mtim};
    ::utimensat(AT_FDCWD, entry.target.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
    return {};
  }

  // Before the first byte, except for one file, which shows whether copies take any room at all.
  Result<void> require_room() {
    std::uint64_t needed = 0;
    for (const Entry& file : files_) needed += size_on_disk(file);
    const auto trial = std::ranges::find_if(files_, [](const Entry& file) { return file.info.st_size > 0; });
    if (trial == files_.end()) return {};
    std::iter_swap(files_.begin(), trial);
    if (copy_.space(target_).value_or(needed) >= size_on_disk(files_.front())) {
      auto method = copy_file(files_.front());
      if (!method) return method.error();
      next_ = 1;
      if (*method == CopyMethod::reflink) {
        ++reflinked_;
        return {};
      }
      needed -= size_on_disk(files_.front());
    }
    return require_space(copy_.space, target_, needed, "a copy of " + (copy_.source_root / copy_.path).string());
  }

  // Of a file with holes less than its size.
  static std::uint64_t size_on_disk(const Entry& file) {
    constexpr std::uint64_t kBlock = 512;  // the unit of st_blocks
    return std::min(static_cast<std::uint64_t>(file.info.st_size),
                    static_cast<std::uint64_t>(file.info.st_blocks) * kBlock);
  }

  Result<void> copy_files() {
    std::vector<std::thread> threads;
    const std::size_t wanted = std::min<std::size_t>(std::max(1U, copy_.workers), files_.size());
    for (std::size_t i = 0; i < wanted; ++i) {
      threads.emplace_back([this] { work(); });
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) return std::move(*failure_);
    return {};
  }

  void work() {
    while (!stop_) {
      const std::size_t index = next_.fetch_add(1);
      if (index >= files_.size()) return;
      auto method = copy_file(files_[index]);
      if (method) {
        if (*method == CopyMethod::reflink) ++reflinked_;
        continue;
      }
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::move(method).error();
      stop_ = true;
    }
  }

  static Result<CopyMethod> copy_file(const Entry& entry) {
    const UniqueFd from(::open(entry.source.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!from) return system_error("open", entry.source);
    const UniqueFd to(
        ::open(entry.target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!to) return system_error("create", entry.target);
    auto method = copy_file_content(from.get(), to.get());
    if (!method) return std::move(method).error().with_context(entry.source.string());
    if (auto done = finish(entry.target, entry.info, to.get()); !done) return done.error();
    return method;
  }

  // Mode and times last: writing changes both.
  static Result<void> finish(const fs::path& target, const struct stat& info, int fd) {
    const std::array<timespec, 2> times{info.st_atim, info.st_mtim};
    const mode_t mode = info.st_mode & kPermissions;
    const bool has_fd = fd >= 0;
    if ((has_fd ? ::fchmod(fd, mode) : ::chmod(target.c_str(), mode)) != 0)
      return system_error("chmod", target);
    const int set =
        has_fd ? ::futimens(fd, times.data()) : ::utimensat(AT_FDCWD, target.c_str(), times.data(), 0);
    if (set != 0) return system_error("set the times of", target);
    return {};
  }

  static void report(std::vector<std::string>& list, const fs::path& entry) {
    if (list.size() < kMaxReported) list.push_back(entry.string());
  }

  const TreeCopy& copy_;
  fs::path target_;
  CopyReport report_;
  std::vector<Entry> files_;
  std::vector<Entry> directories_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> reflinked_{0};
  std::atomic<bool> stop_{false};
  std::mutex failure_mutex_;
  std::optional<Error> failure_;
};

fs::path temporary_path(const TreeCopy& copy) {
  const fs::path target = copy.target_root / copy.path;
  return target.parent_path() / ("." + target.filename().string() + std::string(kSeedInfix) + copy.stamp);
}

}  // namespace

std::string CopyReport::summary() const {
  const char* method = reflinked == files ? "reflink" : reflinked == 0 ? "copy" : "partly reflink";
  const double megabytes = static_cast<double>(bytes) / 1e6;
  const double seconds = static_cast<double>(took.count()) / 1e3;
  return fmt::format("{}, {} files, {:.1f} MB, {:.1f} s", method, files, megabytes, seconds);
}

Result<CopyReport> copy_tree(const TreeCopy& copy) {
  for (const fs::path& root : {copy.source_root, copy.target_root}) {
    const std::string obstacle = find_obstacle(root, copy.path);
    if (!obstacle.empty()) return Error(ErrorKind::refused, "in " + root.string() + ": " + obstacle);
  }
  const fs::path target = copy.target_root / copy.path;
  if (path_exists(target)) return Error(ErrorKind::already_exists, target.string() + " is there already");
  if (auto ready = ensure_directory(target.parent_path()); !ready) return ready.error();
  if (auto cleared = remove_leftover(copy); !cleared) return cleared.error();
  const fs::path temporary = temporary_path(copy);
  auto report = Copier(copy, temporary).run();
  if (report && path_exists(temporary) && ::rename(temporary.c_str(), target.c_str()) != 0) {
    report = system_error("put in place", target);
  }
  // The failure is what counts; a remainder is swept by the next run.
  if (!report) (void)remove_leftover(copy);
  return report;
}

Result<void> remove_leftover(const TreeCopy& copy) {
  return remove_tree(temporary_path(copy));
}

}  // namespace hedge::worktree
