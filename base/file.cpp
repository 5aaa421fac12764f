#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/digest.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace hedge {
namespace fs = std::filesystem;

namespace {

Error errno_error(std::string_view verb, const fs::path& path) {
  const int number = errno;
  return Error::from_errno(number, std::string(verb) + " " + path.string());
}

Result<void> write_all(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno_error("write", path);
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_and_sync(const fs::path& temporary, std::string_view content, mode_t mode) {
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return errno_error("create", temporary);
  // The mode is exact whatever the umask says: secrets must not depend on it, nor must shared files.
  if (::fchmod(fd.get(), mode) != 0) return errno_error("chmod", temporary);
  if (auto written = write_all(fd.get(), content, temporary); !written) return written;
  if (::fsync(fd.get()) != 0) return errno_error("sync", temporary);
  return {};
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::size_t max_bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error("open", path);
  std::string content;
  std::string block(64UL << 10, '\0');
  while (true) {
    const ssize_t got = ::read(fd.get(), block.data(), block.size());
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno_error("read", path);
    }
    if (got == 0) return content;
    content.append(block.data(), static_cast<std::size_t>(got));
    if (content.size() > max_bytes) {
      return Error(ErrorKind::invalid_input,
                   path.string() + " is larger than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

Result<void> write_file_atomically(const fs::path& path, std::string_view content, mode_t mode) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::path temporary =
      directory / ("." + path.filename().string() + "." + to_hex(random_bytes(6)) + ".tmp");
  if (auto written = write_and_sync(temporary, content, mode); !written) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = errno_error("replace", path);
    ::unlink(temporary.c_str());
    return error;
  }
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return errno_error("sync", directory);
  return {};
}

Result<void> ensure_directory(const fs::path& path, mode_t mode) {
  if (path.empty()) return {};
  if (::mkdir(path.c_str(), mode) == 0) return {};
  if (errno == EEXIST || errno == EISDIR) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
    return Error(ErrorKind::already_exists, path.string() + " exists and is not a directory");
  }
  if (errno != ENOENT || path.parent_path() == path) return errno_error("create directory", path);
  if (auto parent = ensure_directory(path.parent_path(), mode); !parent) return parent;
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return errno_error("create directory", path);
  return {};
}

Result<void> remove_file(const fs::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error("remove", path);
  return {};
}

Result<void> remove_tree(const fs::path& path) {
  std::error_code failure;
  fs::remove_all(path, failure);
  if (failure) return Error::from_errno(failure.value(), "remove " + path.string());
  return {};
}

bool path_exists(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace hedge
