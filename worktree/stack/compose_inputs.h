// Files that a compose configuration is made from, beside the compose files that are named on the command line.
#pragma once

#include <filesystem>
#include <vector>

namespace hedge::worktree {

// What `env_file`, `extends` and `include` of `files` name, in their order, those of included files too; whether they
// exist or not. Paths in `files` are relative to `directory`, in an included file to its own. A path with a variable in
// it is left out, and so is what Compose itself would refuse to read. At most 200.
std::vector<std::filesystem::path> find_compose_inputs(const std::vector<std::filesystem::path>& files,
                                                       const std::filesystem::path& directory);

}  // namespace hedge::worktree
