// What a new route table changes, for the event that tells it.
#pragma once

#include <string>

#include "router/route_table.h"

namespace hedge::proxy {

// More hosts of one kind than that are not named; "complete" is then false.
inline constexpr std::size_t kMostHostsInEvent = 100;

// JSON: {"routes": number now, "added": [hosts], "changed": […], "removed": […], "complete": bool}. Empty
// text: nothing has changed.
std::string describe_changes(const router::RouteTable& before, const router::RouteTable& after);

}  // namespace hedge::proxy
