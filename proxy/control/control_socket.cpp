#include "proxy/control/control_socket.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/file.h"
#include "base/file_lock.h"

namespace hedge::proxy {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kBacklog = 64;

// Only a socket is replaced: a file of somebody's under a mistyped path is not ours to remove.
Result<void> remove_stale(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return Error::from_errno(errno, "look at " + path.string());
  }
  if (!S_ISSOCK(info.st_mode)) {
    return Error(ErrorKind::already_exists, path.string() + " is there and is not a socket")
        .with_hint("remove it, or choose another control socket");
  }
  return remove_file(path);
}

Result<UniqueFd> listen_at(const fs::path& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error::from_errno(errno, "make a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.string().size());
  // The mode of the descriptor becomes that of the file: it is never open to others, not even for a moment.
  if (::fchmod(fd.get(), 0600) != 0) return Error::from_errno(errno, "protect the socket");
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error::from_errno(errno, "bind " + path.string());
  }
  if (::chmod(path.c_str(), 0600) != 0) return Error::from_errno(errno, "protect " + path.string());
  if (::listen(fd.get(), kBacklog) != 0) return Error::from_errno(errno, "listen on " + path.string());
  return fd;
}

}  // namespace

Result<ControlSocket> ControlSocket::bind(const fs::path& path) {
  if (path.string().size() > kLongestPath) {
    return Error(ErrorKind::invalid_input,
                 "the control socket's path is longer than 107 bytes: " + path.string())
        .with_hint("choose a shorter path for `control`, or a shorter state directory");
  }
  if (auto ready = ensure_directory(path.parent_path(), 0700); !ready) return ready.error();
  auto lock =
      FileLock::acquire(path.string() + ".lock", FileLock::Mode::exclusive, std::chrono::milliseconds(0));
  if (!lock) {
    if (lock.error().kind() != ErrorKind::busy) return std::move(lock).error().with_context("control socket");
    return Error(ErrorKind::already_exists, "an edge is already running on " + path.string())
        .with_id("edge_already_running")
        .with_cause(std::move(lock).error());
  }
  if (auto removed = remove_stale(path); !removed) return removed.error();
  auto fd = listen_at(path);
  if (!fd) return std::move(fd).error().with_context("control socket");
  UniqueFd held(::fcntl(lock->descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!held) return Error::from_errno(errno, "keep the lock of the control socket");
  return ControlSocket(path, std::move(held), std::move(*fd));
}

ControlSocket ControlSocket::adopt(fs::path path, UniqueFd lock, UniqueFd listener) {
  ControlSocket socket(std::move(path), std::move(lock), std::move(listener));
  socket.owns_file_ = false;
  return socket;
}

ControlSocket::ControlSocket(fs::path path, UniqueFd lock, UniqueFd fd)
    : path_(std::move(path)), lock_(std::move(lock)), fd_(std::move(fd)) {}

ControlSocket::~ControlSocket() {
  // A moved-from object has no path any more.
  if (owns_file_ && !path_.empty()) (void)remove_file(path_);
}

}  // namespace hedge::proxy
