#include "worktree/seed/file_copy.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace hedge::worktree {
namespace {

constexpr std::size_t kChunk = 64UL << 20;

Error copy_error(const char* doing) {
  const int number = errno;
  Error error = Error::from_errno(number, doing);
  if (error.kind() == ErrorKind::no_space) return std::move(error).with_id("disk_full");
  return error;
}

// For file systems between which the kernel does not copy.
Result<void> copy_bytes(int from, int to) {
  std::array<char, 64UL << 10> block{};
  while (true) {
    const ssize_t got = ::read(from, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return copy_error("read");
    if (got == 0) return {};
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = ::write(to, block.data() + done, static_cast<std::size_t>(got - done));
      if (written < 0 && errno != EINTR) return copy_error("write");
      if (written > 0) done += written;
    }
  }
}

}  // namespace

Result<CopyMethod> copy_file_content(int from, int to) {
  if (::ioctl(to, FICLONE, from) == 0) return CopyMethod::reflink;
  while (true) {
    const ssize_t copied = ::copy_file_range(from, nullptr, to, nullptr, kChunk, 0);
    if (copied == 0) return CopyMethod::copy;
    if (copied > 0 || errno == EINTR) continue;
    if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return copy_error("copy");
    if (auto done = copy_bytes(from, to); !done) return done.error();
    return CopyMethod::copy;
  }
}

}  // namespace hedge::worktree
