// Copying one file's content in the cheapest way that the system has: shared blocks (copy on write),
// in-kernel copy, or bytes. Never a link: what is written to the copy must not reach the original.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace hedge::worktree {

enum class CopyMethod { reflink, copy };

// Copies all of `from` into the empty file `to`. Both are open descriptors of regular files.
// Errors: no_space `disk_full`; io.
Result<CopyMethod> copy_file_content(int from, int to);

}  // namespace hedge::worktree
