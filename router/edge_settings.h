// The edge's settings file as a whole: [edge] and the static [[routes]].
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/edge_config.h"
#include "router/route.h"

namespace hedge::router {

struct EdgeSettings {
  config::EdgeConfig edge;
  std::vector<Route> routes;
};

// Resolves no name and touches nothing but the file.
// Errors: `config_invalid` with every problem at line and column, also of hosts and upstreams, and a host
// that stands twice; not_found, permission.
Result<EdgeSettings> load_edge_settings(const std::filesystem::path& file);
Result<EdgeSettings> parse_edge_settings(std::string_view text, std::string name);

}  // namespace hedge::router
