// Reading and writing whole files. The only way in which the program writes state files.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hedge {

// Errors: not_found, permission, io; invalid_input when it is larger than `max_bytes`.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes = 64UL << 20);

// Writes to a temporary file beside the target, syncs it, renames it over the target and syncs the directory:
// after a crash or on a full disk the old content or the new one is there, never a part.
// A symbolic link at `path` is replaced, not followed. On any error the temporary file is removed.
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content, mode_t mode);

// Creates the directory and its missing parents with `mode`; an existing one is fine and keeps its mode.
// Errors: already_exists if something else is in the way (also a dangling symbolic link).
Result<void> ensure_directory(const std::filesystem::path& path, mode_t mode = 0755);

// Removes one file. The absent one is success.
Result<void> remove_file(const std::filesystem::path& path);
// Removes a tree without following links. The absent one is success.
Result<void> remove_tree(const std::filesystem::path& path);

bool path_exists(const std::filesystem::path& path);  // also true for a dangling link

}  // namespace hedge
