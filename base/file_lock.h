// A kernel lock on a file: it dies with the process, so no age heuristics are ever needed.
#pragma once

#include <chrono>
#include <filesystem>

#include "base/result.h"
#include "base/unique_fd.h"

namespace hedge {

class FileLock {
 public:
  enum class Mode { shared, exclusive };

  // Waits at most `limit` (zero: does not wait). The file is created (0600) and never removed.
  // Errors: busy (the hint names the holder's pid where the kernel tells it), permission, no_space, io.
  static Result<FileLock> acquire(const std::filesystem::path& path, Mode mode, std::chrono::milliseconds limit);

  // For CommandLine::inherited: a child that has it holds the lock too, and goes on holding it if this process dies.
  int descriptor() const noexcept { return fd_.get(); }

  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) noexcept = default;

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;  // closing it releases the lock
};

}  // namespace hedge
