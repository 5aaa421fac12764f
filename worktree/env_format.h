// The format of environment files, and our block inside one. Written so that shells, Compose and the usual
// dotenv libraries read the same values out of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hedge::worktree {

using Variables = std::vector<std::pair<std::string, std::string>>;

// `NAME=value`, in double or single quotes where the value needs them.
// Errors: invalid_input `env_value_invalid`, for what no reader would read back: line breaks, NUL, and quotes
// of both kinds together; or a name that is none.
Result<std::string> format_variable(std::string_view name, std::string_view value);

// `content` with our block set to `variables`: replaced where it stands, or added at the end, where it wins
// over what stands before. Errors: see format_variable(); conflict `env_file_foreign` (a block without its
// end).
Result<std::string> with_block(std::string_view content, const Variables& variables);
// `content` without our block. What was not ours comes back byte by byte.
Result<std::string> without_block(std::string_view content);

}  // namespace hedge::worktree
