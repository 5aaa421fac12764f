// Whether there is room for what is about to be written: a copy that fills the disk takes others down with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace hedge::worktree {

// Bytes that this user may still write on the disk of `place`, or of its nearest directory that exists; absent where
// the system does not say.
using SpaceProbe = std::function<std::optional<std::uint64_t>(const std::filesystem::path& place)>;
std::optional<std::uint64_t> free_bytes(const std::filesystem::path& place);

// Room for `bytes` and a tenth more. `what`: such as "the database shop". Errors: no_space `disk_full`, with both
// amounts.
Result<void> require_space(const SpaceProbe& probe, const std::filesystem::path& place, std::uint64_t bytes,
                           std::string_view what);

}  // namespace hedge::worktree
