// A state directory's one edge: a lock, and the note by which commands find its control socket.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/unique_fd.h"

namespace hedge::proxy {

class EdgeClaim {
 public:
  // Takes the lock and writes the note. What of them cannot be had is a warning in the log: the edge serves all the same.
  // Errors: already_exists `edge_already_running` (a living edge holds the lock).
  static Result<EdgeClaim> take(const std::filesystem::path& state,
                                const std::filesystem::path& control_socket);

  // One that another edge hands over with its lock (none: it had none). The note is that edge's until own().
  static EdgeClaim adopt(std::filesystem::path state, std::filesystem::path control_socket, UniqueFd lock);

  EdgeClaim(EdgeClaim&&) noexcept = default;
  EdgeClaim& operator=(EdgeClaim&&) = delete;
  ~EdgeClaim();  // removes the note, if it owns it, then gives the lock up

  void own() { owns_note_ = true; }
  // Another process has it now: the note stays, and the lock is that process's alone.
  void leave() {
    owns_note_ = false;
    lock_.reset();
  }
  // -1: there is none.
  int lock_descriptor() const { return lock_.get(); }

 private:
  EdgeClaim(std::filesystem::path state, std::filesystem::path control_socket, UniqueFd lock);

  std::filesystem::path state_;  // empty: moved from
  std::filesystem::path control_socket_;
  UniqueFd lock_;  // of a locked file; the lock lasts until its last copy is closed
  bool owns_note_ = true;
};

}  // namespace hedge::proxy
