// The mounts of a service in a rendered compose configuration.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "worktree/stack/compose_tool.h"

namespace hedge::worktree {

// Writes every mount of `service` in the long form, without creating absent host paths: a bind whose source
// is gone must fail, not come back as an empty directory of root's. Returns the sources on the host.
std::vector<std::string> normalize_mounts(nlohmann::json& service, const ComposeVersion& compose);

// The sources on the host of what `service` mounts, in whichever form.
std::vector<std::string> bind_sources(const nlohmann::json& service);

// Mounts `path` at its own path, unless something else is mounted there.
enum class MountMode { read_write, read_only };
void add_mount(nlohmann::json& service, const std::filesystem::path& path, const ComposeVersion& compose,
               MountMode mode = MountMode::read_write);

// Whether `path` is `directory` or below it; symbolic links are followed as far as they exist.
bool is_within(const std::filesystem::path& path, const std::filesystem::path& directory);

}  // namespace hedge::worktree
