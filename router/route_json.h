// Routes as the control API and the CLI's --json spell them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "router/route.h"

namespace hedge::router {

// {"host", "wildcard", "upstream", "protocol", "worktree", "state"}; all members are always written.
nlohmann::json to_json(const Route& route);

// `host` and `upstream` are required, the others have the defaults of Route. An unknown member is an error.
// Errors: invalid_input, naming the member.
Result<Route> route_from_json(const nlohmann::json& value);

}  // namespace hedge::router
