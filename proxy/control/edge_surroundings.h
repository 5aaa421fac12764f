// Where this process runs: in which container, and beside which networks. One file per system answers it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hedge::proxy {

// The id of the container that this process runs in. Absent: none that can be told.
std::optional<std::string> find_own_container();
// The same from the text of /proc/self/mountinfo: the engine mounts the container's hosts file from
// …/containers/<64 hexadecimal digits>/hosts.
std::optional<std::string> own_container_in(std::string_view mountinfo);

// True if an interface of this host that is up has an address in the same network as `ip`: a packet there
// needs no gateway.
bool is_on_connected_network(const std::string& ip);
// True if `ip` is a loopback address or one of this host's own: what listens there runs on this machine.
bool is_address_of_this_host(const std::string& ip);

}  // namespace hedge::proxy
