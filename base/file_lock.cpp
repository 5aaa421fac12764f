#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <thread>

#include "base/text.h"

namespace hedge {
namespace {

// /proc/locks: "1: FLOCK  ADVISORY  WRITE 4242 fe:00:1234 0 EOF"; the inode is the last part of the sixth field.
std::string holder_of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return {};
  const std::string inode = ":" + std::to_string(info.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::vector<std::string_view> fields;
    for (const std::string_view field : split(line, ' ')) {
      if (!field.empty()) fields.push_back(field);
    }
    if (fields.size() > 5 && fields[1] == "FLOCK" && fields[5].ends_with(inode)) return std::string(fields[4]);
  }
  return {};
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& path, Mode mode, std::chrono::milliseconds limit) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::from_errno(errno, "open lock " + path.string());
  const int operation = (mode == Mode::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  // flock has no timed form; polling every few milliseconds keeps the bound without a signal.
  constexpr auto kPoll = std::chrono::milliseconds(5);
  while (::flock(fd.get(), operation) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return Error::from_errno(errno, "lock " + path.string());
    if (std::chrono::steady_clock::now() >= deadline) {
      Error error(ErrorKind::busy, "another process holds " + path.string());
      const std::string pid = holder_of(fd.get());
      if (!pid.empty()) return std::move(error).with_id("busy").with_hint("held by process " + pid);
      return std::move(error).with_id("busy");
    }
    std::this_thread::sleep_for(kPoll);
  }
  return FileLock(std::move(fd));
}

}  // namespace hedge
