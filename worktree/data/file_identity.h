// What tells one file from every other that has ever stood at its path.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace hedge::worktree {

// The file's number and, where the file system keeps it, the moment of its birth: writing to the file, renaming it and
// a restart of the machine leave it as it is, a copy and a successor at the same path have another. Without the
// device, whose number may be another after a restart. Errors: not_found; permission; io.
Result<std::string> file_identity(const std::filesystem::path& file);

}  // namespace hedge::worktree
