// Routes that cannot have TLS, because the CA may not sign for their hosts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "router/route_table.h"

namespace hedge::proxy {

// One line that names some of them, or nothing. Reads the CA; one that cannot be read is told elsewhere.
std::vector<std::string> warn_of_unpermitted_hosts(const std::filesystem::path& ca_directory,
                                                   const router::RouteTable& table);

}  // namespace hedge::proxy
