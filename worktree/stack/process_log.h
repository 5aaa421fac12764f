// The log of a supervised process: what it writes to standard output and standard error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace hedge::worktree {

// Beyond it a log is cut; its end is kept beside it, in `<log>.1`.
inline constexpr std::uint64_t kMaxLogBytes = 16U << 20;

// Open for appending, with mode 0600.
Result<UniqueFd> open_process_log(const std::filesystem::path& path);

// Cuts a log that is larger than `max_bytes`. The process goes on writing through its own descriptor, which appends; what it
// writes during the cut is lost. Errors: io; not that the log is absent.
Result<void> bound_process_log(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxLogBytes);

// The last bytes of a file, of whatever size it is; empty if it cannot be read.
std::string read_end(const std::filesystem::path& path, std::uint64_t max_bytes);

}  // namespace hedge::worktree
