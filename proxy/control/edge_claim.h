// A state directory's one edge: a lock, and the note by which commands find its control socket.
#pragma once

#include <filesystem>
#include <optional>

#include "base/file_lock.h"
#include "base/result.h"

namespace hedge::proxy {

class EdgeClaim {
 public:
  // Takes the lock and writes the note. What of them cannot be had is a warning in the log: the edge serves all the same.
  // Errors: already_exists `edge_already_running` (a living edge holds the lock).
  static Result<EdgeClaim> take(const std::filesystem::path& state, const std::filesystem::path& control_socket);

  EdgeClaim(EdgeClaim&&) noexcept = default;
  EdgeClaim& operator=(EdgeClaim&&) = delete;
  ~EdgeClaim();  // removes the note, then gives the lock up

 private:
  EdgeClaim(std::filesystem::path state, std::filesystem::path control_socket, std::optional<FileLock> lock);

  std::filesystem::path state_;  // empty: moved from
  std::filesystem::path control_socket_;
  std::optional<FileLock> lock_;
};

}  // namespace hedge::proxy
