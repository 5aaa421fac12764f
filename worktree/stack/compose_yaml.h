// Compose files as JSON values, and the line on which something stands. The only user of the YAML library.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace hedge::worktree {

// Plain scalars become null, booleans and numbers as YAML's core schema says; quoted ones stay text.
// Errors: invalid_input `compose_file_invalid`, with line and column.
Result<nlohmann::json> parse_yaml(std::string_view text);

// "compose.yml:12", where the value at `keys` begins; the last of `files` that has it. Empty if none has it.
std::string find_line(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& keys);

}  // namespace hedge::worktree
