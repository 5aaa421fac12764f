// Who listens on a port of this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hedge::proxy {

struct PortHolder {
  int pid = 0;
  std::string command;  // as the process calls itself
};

// Absent: nobody, or a process of another user that this one may not look into.
std::optional<PortHolder> find_port_holder(std::uint16_t port);

// This process alone holds what keeps a socket from listening there, perhaps as copies of another process's
// sockets. False: somebody else does, too, or nobody.
bool is_held_by_this_process(const std::string& ip, std::uint16_t port);

}  // namespace hedge::proxy
