#include "worktree/free_space.h"

#include <string>
#include <system_error>

#include <spdlog/fmt/fmt.h>

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMarginPart = 10;  // of the size: what else grows meanwhile, and a file system's own needs

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

std::optional<std::uint64_t> free_bytes(const fs::path& place) {
  std::error_code failure;
  fs::path existing = fs::absolute(place, failure);
  while (!failure && existing.has_relative_path() && !fs::exists(existing, failure)) {
    existing = existing.parent_path();
    failure.clear();
  }
  const auto space = fs::space(existing, failure);
  if (failure) return std::nullopt;
  return space.available;
}

Result<void> require_space(const SpaceProbe& probe, const fs::path& place, std::uint64_t bytes,
                           std::string_view what) {
  if (bytes == 0) return {};
  const auto available = probe(place);
  const std::uint64_t needed = bytes + bytes / kMarginPart;
  if (!available || *available >= needed) return {};
  return Error(ErrorKind::no_space, "the disk of " + place.string() + " has no room for " + std::string(what) + ": " +
                                        megabytes(needed) + " needed, " + megabytes(*available) + " free")
      .with_id("disk_full")
      .with_hint("make room for " + megabytes(needed - *available) + "; `hedge gc` finds what may go");
}

}  // namespace hedge::worktree
