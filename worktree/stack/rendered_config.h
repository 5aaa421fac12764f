// The compose configuration of one worktree: what the repository says, made harmless to everybody else.
//
// Compose merges override files by rules that differ between its generations (ports are appended, resets
// need 2.24), so Hedge generates no override but the whole configuration, from what `compose config`
// rendered.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "worktree/stack/compose_tool.h"
#include "worktree/stack/shared_networks.h"

namespace hedge::worktree {

inline constexpr std::string_view kIdLabel = "hedge.id";
inline constexpr std::string_view kAppLabel = "hedge.app";
inline constexpr std::string_view kSlugLabel = "hedge.slug";

struct RenderRequest {
  ComposeVersion compose;
  std::string id;
  std::string app;
  std::string slug;
  std::string project;
  std::filesystem::path checkout;        // mounted at its own path in `services`
  std::filesystem::path git_common_dir;  // likewise
  std::filesystem::path
      main_checkout;  // nothing inside it may be mounted, but git_common_dir; empty: no such rule
  std::filesystem::path trust_directory;     // mounted at its own path, read-only; empty: none
  std::vector<std::filesystem::path> files;  // the repository's, for the lines of messages
  std::vector<std::string> services;  // those that are the application: they get environment and mounts
  Environment environment;
  std::vector<std::string> extra_hosts;  // "name:address"
};

struct RenderedConfig {
  std::string text;                    // JSON, which every Compose reads as YAML
  std::vector<std::string> services;   // all that it has
  std::vector<std::string> one_shots;  // those that others wait for to end: not running is their right state
  SharedNetworks shared_networks;
  std::map<std::string, std::string> images;  // by service, of those that are not built
  std::vector<std::string> notes;             // for people: what was reset, and where it stands
};

// From the output of `compose config` (YAML or JSON).
// Errors: refused `compose_bind_in_main`, `compose_host_network`; not_found `service_unknown`; invalid_input
// `compose_file_invalid`. Every problem of a kind is a hint of its own, with file and line.
Result<RenderedConfig> render_for_worktree(std::string_view rendered, const RenderRequest& request);

// Reads back what Compose makes of the generated file, before anything is started from it.
// Errors: refused `compose_rendered_unsafe`, naming what is not as it must be.
Result<void> require_safe(std::string_view rendered, const RenderRequest& request);

}  // namespace hedge::worktree
