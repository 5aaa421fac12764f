#include "worktree/stack/process_log.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace hedge::worktree {

Result<UniqueFd> open_process_log(const std::filesystem::path& path) {
  if (auto bounded = bound_process_log(path); !bounded) return bounded.error();
  UniqueFd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return Error::from_errno(errno, "open " + path.string());
  return log;
}

Result<void> bound_process_log(const std::filesystem::path& path, std::uint64_t max_bytes) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (static_cast<std::uint64_t>(info.st_size) <= max_bytes) return {};
  const auto kept = write_file_atomically(path.string() + ".1", read_end(path, max_bytes), 0600);
  // Also where its end could not be kept: a full disk is what this is against.
  if (::truncate(path.c_str(), 0) != 0) return Error::from_errno(errno, "cut " + path.string());
  return kept;
}

std::string read_end(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || info.st_size <= 0) return {};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const std::uint64_t wanted = std::min(size, max_bytes);
  std::string out(wanted, '\0');
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got = ::pread(file.get(), out.data() + filled, out.size() - filled,
                                static_cast<off_t>(size - wanted + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  out.resize(filled);
  return out;
}

}  // namespace hedge::worktree
