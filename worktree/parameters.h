// The parameters of a ResourceSpec: JSON as text.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "worktree/resource_kind.h"

namespace hedge::worktree {

// Never fails: paths and names of a file system need not be UTF-8, which JSON is; what is not is replaced.
std::string write_parameters(const nlohmann::json& json);

// Whether JSON can hold it as it is, which takes UTF-8.
bool is_json_text(const std::string& text);

// Whether both say the same under `key`. False, if one of them cannot be understood.
bool agree_on(std::string_view key, const ResourceSpec& one, const ResourceSpec& other);

}  // namespace hedge::worktree
