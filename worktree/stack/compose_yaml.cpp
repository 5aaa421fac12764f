#include "worktree/stack/compose_yaml.h"

#include <charconv>
#include <cstdint>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace {

using Json = nlohmann::json;

Json scalar_to_json(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  // yaml-cpp tags what was quoted with "!", and plain text with "?".
  if (node.Tag() == "!") return text;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (const auto number = parse_number<std::int64_t>(text)) return *number;
  const bool looks_like_number = text.find_first_not_of("0123456789.eE+-") == std::string::npos &&
                                 text.find_first_of("0123456789") != std::string::npos;
  if (!looks_like_number) return text;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? Json(number) : Json(text);
}

Json to_json(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return scalar_to_json(node);
    case YAML::NodeType::Sequence: {
      Json array = Json::array();
      for (const YAML::Node& item : node) array.push_back(to_json(item));
      return array;
    }
    case YAML::NodeType::Map: {
      Json object = Json::object();
      for (const auto& entry : node) {
        if (entry.first.Scalar() == "<<" && entry.second.IsMap()) {
          // A merge key: what the map says itself wins.
          // Named: a temporary here would end before the loop begins.
          const Json merged = to_json(entry.second);
          for (const auto& [key, value] : merged.items()) {
            if (!object.contains(key)) object[key] = value;
          }
        } else {
          object[entry.first.Scalar()] = to_json(entry.second);
        }
      }
      return object;
    }
    default:
      return nullptr;
  }
}

// One more than the library's, which counts from 0.
std::string position(const YAML::Mark& mark) {
  return "line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1);
}

// 0 if there is nothing at `keys`. A number as a key is an index into a sequence.
int line_in(const std::string& text, const std::vector<std::string>& keys) {
  try {
    YAML::Node node = YAML::Load(text);
    for (const std::string& key : keys) {
      if (!node.IsMap() && !node.IsSequence()) return 0;
      YAML::Node next;
      if (node.IsSequence()) {
        const auto index = parse_number<std::size_t>(key);
        if (!index || *index >= node.size()) return 0;
        next.reset(node[*index]);
      } else {
        if (!node[key]) return 0;
        next.reset(node[key]);
      }
      node.reset(next);
    }
    return node.Mark().line + 1;
  } catch (const YAML::Exception&) {
    return 0;  // Compose has read the file; only the line is not known then
  }
}

}  // namespace

Result<Json> parse_yaml(std::string_view text) {
  try {
    return to_json(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& problem) {
    return Error(ErrorKind::invalid_input, position(problem.mark) + ": " + problem.msg)
        .with_id("compose_file_invalid");
  }
}

std::string find_line(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& keys) {
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const auto text = read_file(*file);
    if (!text) continue;
    if (const int line = line_in(*text, keys); line > 0)
      return file->filename().string() + ":" + std::to_string(line);
  }
  return {};
}

}  // namespace hedge::worktree
