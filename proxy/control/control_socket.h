// The unix socket on which a running edge listens for control: one edge a socket, decided by a lock.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/unique_fd.h"

namespace hedge::proxy {

class ControlSocket {
 public:
  // Creates the directory (0700) where missing, takes the lock beside the socket, replaces what a dead edge
  // left, binds with mode 0600 and listens.
  // Errors: already_exists `edge_already_running` (a living edge holds the lock); invalid_input (path above
  // 107 bytes); already_exists (something that is no socket is in the way); permission, no_space, io.
  static Result<ControlSocket> bind(const std::filesystem::path& path);

  // One that another edge hands over, with its lock. The file is that edge's until own().
  static ControlSocket adopt(std::filesystem::path path, UniqueFd lock, UniqueFd listener);

  ControlSocket(ControlSocket&&) noexcept = default;
  ControlSocket& operator=(ControlSocket&&) = delete;
  ~ControlSocket();  // removes the socket's file, if it owns it, then gives the lock up

  void own() { owns_file_ = true; }
  // Another process has it now: the file stays when this object goes, and the lock is that process's alone.
  void leave() {
    owns_file_ = false;
    lock_.reset();
  }
  int lock_descriptor() const { return lock_.get(); }
  // The listening descriptor; the caller closes it.
  int release_descriptor() { return fd_.release(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  ControlSocket(std::filesystem::path path, UniqueFd lock, UniqueFd fd);

  std::filesystem::path path_;
  UniqueFd lock_;  // of a locked file: the lock lasts until the last copy of the descriptor is closed
  UniqueFd fd_;
  bool owns_file_ = true;
};

}  // namespace hedge::proxy
