#include "worktree/stack/compose_inputs.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "worktree/stack/compose_yaml.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxInputs = 200;
constexpr std::size_t kMaxComposeFile = 4UL << 20;

class Inputs {
 public:
  void read(const fs::path& file, const fs::path& directory) {
    const auto text = read_file(file, kMaxComposeFile);
    if (!text) return;
    const auto config = parse_yaml(*text);
    if (!config || !config->is_object()) return;
    if (config->contains("include")) include((*config)["include"], directory);
    if (!config->contains("services") || !(*config)["services"].is_object()) return;
    for (const auto& [name, service] : (*config)["services"].items()) {
      if (!service.is_object()) continue;
      if (service.contains("env_file")) add_each(service["env_file"], directory);
      if (service.contains("extends")) extend(service["extends"], directory);
    }
  }
  std::vector<fs::path> take() { return std::move(found_); }

 private:
  // False: it was there already, cannot be told, or there are too many.
  bool add(const Json& path, const fs::path& directory, fs::path& full) {
    if (!path.is_string() || path.get<std::string>().find('$') != std::string::npos) return false;
    full = (directory / path.get<std::string>()).lexically_normal();
    if (found_.size() >= kMaxInputs || std::ranges::find(found_, full) != found_.end()) return false;
    found_.push_back(full);
    return true;
  }

  // A path, an object with one, or a list of either.
  void add_each(const Json& value, const fs::path& directory) {
    fs::path ignored;
    if (value.is_array()) {
      for (const Json& item : value) add_each(item, directory);
    } else if (value.is_object() && value.contains("path")) {
      add_each(value["path"], directory);
    } else {
      add(value, directory, ignored);
    }
  }

  void extend(const Json& value, const fs::path& directory) {
    fs::path file;
    if (value.is_object() && value.contains("file") && add(value["file"], directory, file))
      read(file, file.parent_path());
  }

  void include(const Json& value, const fs::path& directory) {
    if (value.is_array()) {
      for (const Json& item : value) include(item, directory);
    } else if (value.is_object()) {
      if (value.contains("env_file")) add_each(value["env_file"], directory);
      if (value.contains("path")) include(value["path"], directory);
    } else {
      fs::path file;
      if (add(value, directory, file)) read(file, file.parent_path());
    }
  }

  std::vector<fs::path> found_;
};

}  // namespace

std::vector<fs::path> find_compose_inputs(const std::vector<fs::path>& files, const fs::path& directory) {
  Inputs inputs;
  for (const fs::path& file : files) inputs.read(file, directory);
  return inputs.take();
}

}  // namespace hedge::worktree
