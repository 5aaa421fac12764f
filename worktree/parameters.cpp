#include "worktree/parameters.h"

#include <nlohmann/json.hpp>

namespace hedge::worktree {

using Json = nlohmann::json;

std::string write_parameters(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_json_text(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::ignore)) == text;
}

bool agree_on(std::string_view key, const ResourceSpec& one, const ResourceSpec& other) {
  const Json first = Json::parse(one.parameters, nullptr, false);
  const Json second = Json::parse(other.parameters, nullptr, false);
  const std::string name(key);
  return first.is_object() && second.is_object() && first.contains(name) && second.contains(name) &&
         first[name] == second[name];
}

}  // namespace hedge::worktree
