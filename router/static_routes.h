// The [[routes]] of the edge's settings file as routes.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "config/edge_config.h"
#include "router/route.h"

namespace hedge::router {

// Every problem is reported, one a line as "name:line:column: what", in one `config_invalid` error; also a host that
// stands twice. Resolves nothing.
Result<std::vector<Route>> static_routes(const config::EdgeConfig& config, const std::filesystem::path& name);

}  // namespace hedge::router
