#include "worktree/git/checkout_disk.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include <sys/vfs.h>

#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace {

constexpr std::string_view kFileName = "hedge-disk";
constexpr std::size_t kMaxFileBytes = 4096;

// By the file system's own number and not by the device's, which may be another after a restart.
Result<std::string> disk_of(const std::filesystem::path& directory) {
  struct statfs about {};
  if (::statfs(directory.c_str(), &about) != 0) return Error::from_errno(errno, "look at " + directory.string());
  std::string number(sizeof about.f_fsid, '\0');
  std::memcpy(number.data(), &about.f_fsid, number.size());
  return std::to_string(about.f_type) + " " + to_hex(number);
}

}  // namespace

Result<void> remember_disk(const std::filesystem::path& git_dir, const std::filesystem::path& checkout) {
  const auto disk = disk_of(checkout.parent_path());
  if (!disk) return disk.error();
  return write_file_atomically(git_dir / kFileName, *disk + "\n", 0644);
}

bool is_on_remembered_disk(const std::filesystem::path& git_dir, const std::filesystem::path& checkout) {
  const auto remembered = read_file(git_dir / kFileName, kMaxFileBytes);
  const auto now = disk_of(checkout.parent_path());
  return remembered && now && *remembered == *now + "\n";
}

}  // namespace hedge::worktree
