#include "worktree/data/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace hedge::worktree {

Result<std::string> file_identity(const std::filesystem::path& file) {
  struct statx info {};
  if (::statx(AT_FDCWD, file.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &info) != 0) {
    return Error::from_errno(errno, "look at " + file.string());
  }
  std::string identity = std::to_string(info.stx_ino);
  if ((info.stx_mask & STATX_BTIME) != 0) {
    identity += " " + std::to_string(info.stx_btime.tv_sec) + "." + std::to_string(info.stx_btime.tv_nsec);
  }
  return identity;
}

}  // namespace hedge::worktree
