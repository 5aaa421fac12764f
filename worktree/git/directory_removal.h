// Removing a directory in two steps of which the first cannot stop half-way.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace hedge::worktree {

// Where a directory that is being removed waits: beside it, hidden, named after its owner's id.
std::filesystem::path doomed_path(const std::filesystem::path& path, std::string_view id);

// Everything below `path` can be removed; directories of our own that are read-only are made writable on the
// way. Errors: permission `files_not_removable` (a container wrote them as another user).
Result<void> require_removable(const std::filesystem::path& path);

// Renames `path` to `doomed`, after making sure that everything in it can be removed.
// Errors: as require_removable(); nothing has been moved then.
Result<void> move_aside(const std::filesystem::path& path, const std::filesystem::path& doomed);

}  // namespace hedge::worktree
