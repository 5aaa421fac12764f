// Two names that change places.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace hedge {

// In one step: nobody ever sees one of them absent. Both lie in one directory, which is synced.
// Errors: not_found, permission, io (also where the file system cannot do it).
Result<void> exchange_paths(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace hedge
