#include "worktree/stack/compose_mounts.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hedge::worktree {
namespace {

using Json = nlohmann::json;

Json bind_mount(const std::string& source, const std::string& target) {
  return {{"type", "bind"}, {"source", source}, {"target", target}};
}

// The short form, "source:target:mode" or "target". A mode with more than ro and rw (SELinux labels,
// propagation) has no equal in the long form of every generation: then the text stays.
Json parse_short(const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() == 1) return {{"type", "volume"}, {"target", text}};
  const std::string mode = parts.size() > 2 ? std::string(parts[2]) : "rw";
  if (parts.size() > 3 || (mode != "rw" && mode != "ro")) return text;
  const std::string source(parts[0]);
  Json mount = {{"type", source.starts_with('/') ? "bind" : "volume"},
                {"source", source},
                {"target", std::string(parts[1])}};
  if (mode == "ro") mount["read_only"] = true;
  return mount;
}

// The host path of a mount that stayed text, or is a bind; empty for anything else.
std::string source_of(const Json& mount) {
  if (mount.is_string()) {
    const std::string text = mount.get<std::string>();
    return text.starts_with('/') ? text.substr(0, text.find(':')) : std::string();
  }
  const bool is_bind = mount.is_object() && mount.value("type", "") == "bind";
  return is_bind ? mount.value("source", "") : std::string();
}

void forbid_creation(Json& mount, const ComposeVersion& compose) {
  // The Python generation does not know the key and never creates the source of a mount in the long form.
  if (compose.major < 2 || !mount.is_object() || mount.value("type", "") != "bind") return;
  if (!mount.contains("bind") || !mount["bind"].is_object()) mount["bind"] = Json::object();
  mount["bind"]["create_host_path"] = false;
}

std::filesystem::path resolved(const std::filesystem::path& path) {
  std::error_code problem;
  auto out = std::filesystem::weakly_canonical(path, problem);
  if (problem) out = path.lexically_normal();
  return out.has_filename() ? out : out.parent_path();  // without a slash at the end
}

}  // namespace

std::vector<std::string> bind_sources(const Json& service) {
  std::vector<std::string> sources;
  if (!service.contains("volumes") || !service["volumes"].is_array()) return sources;
  for (const Json& mount : service["volumes"]) {
    if (std::string source = source_of(mount); !source.empty()) sources.push_back(std::move(source));
  }
  return sources;
}

std::vector<std::string> normalize_mounts(Json& service, const ComposeVersion& compose) {
  if (!service.contains("volumes") || !service["volumes"].is_array()) return {};
  for (Json& mount : service["volumes"]) {
    if (mount.is_string()) mount = parse_short(mount.get<std::string>());
    forbid_creation(mount, compose);
  }
  return bind_sources(service);
}

void add_mount(Json& service, const std::filesystem::path& path, const ComposeVersion& compose,
               MountMode mode) {
  if (!service.contains("volumes") || !service["volumes"].is_array()) service["volumes"] = Json::array();
  Json& mounts = service["volumes"];
  const auto is_there = [&path](const Json& mount) {
    return mount.is_object() && mount.value("target", "") == path.string();
  };
  if (std::any_of(mounts.begin(), mounts.end(), is_there)) return;
  Json mount = bind_mount(path.string(), path.string());
  if (mode == MountMode::read_only) mount["read_only"] = true;
  forbid_creation(mount, compose);
  mounts.push_back(std::move(mount));
}

bool is_within(const std::filesystem::path& path, const std::filesystem::path& directory) {
  const auto inner = resolved(path);
  const auto outer = resolved(directory);
  const auto [end, rest] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  static_cast<void>(rest);
  return end == outer.end();
}

}  // namespace hedge::worktree
