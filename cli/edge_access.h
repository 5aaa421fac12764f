// How verbs reach a running edge.
#pragma once

#include <chrono>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/services.h"
#include "router/edge_client.h"

namespace hedge::cli {

// Of this state directory's edge. Errors: of Services::paths().
Result<router::EdgeClient> edge_client(Services& services);

// Waits at most `ending_limit` for an edge whose control socket is gone already.
// Errors: of EdgeClient; `edge_unresponsive` also if an edge of this state directory lives without its socket.
Result<router::EdgeStatus> fetch_status(Services& services, std::chrono::milliseconds ending_limit);

enum class EdgeNotice { told, is_down, will_look_itself };
std::string_view to_string(EdgeNotice notice);

// After a change of the route store. Never an error: the store is written, and a running edge that could not
// be told looks within a second by itself. Says on standard error what a person should know.
EdgeNotice tell_edge(Services& services);

nlohmann::json status_to_json(const router::EdgeStatus& status);
void print_status(Output& output, const router::EdgeStatus& status);

}  // namespace hedge::cli
