// Opens the ports that the edge listens on: one socket for each worker and address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "config/edge_config.h"
#include "proxy/downstream_connection.h"

namespace hedge::proxy {

struct ListenPlan {
  // Absent: 127.0.0.1 and ::1 on the standard port, else on the port that was used last, else on the fallback
  // port. Empty: none.
  std::optional<std::vector<config::SocketAddress>> plain;
  std::optional<std::vector<config::SocketAddress>> tls;
  std::size_t workers = 1;
  // This process listens already: an address on a port that it holds itself (0.0.0.0 instead of 127.0.0.1) is
  // no conflict.
  bool beside_own = false;
  // What stands for 80/443 and 8080/8443; tests that may not have those say others.
  struct Ports {
    std::uint16_t standard = 0;
    std::uint16_t fallback = 0;
    std::uint16_t remembered = 0;  // 0: none
  };
  Ports plain_ports{80, 8080};
  Ports tls_ports{443, 8443};
};

struct BoundAddress {
  ListenerKind kind = ListenerKind::plain;
  config::SocketAddress address;  // with the real port
  // As it was asked for: with port 0 where the system chose, with the standard port where the fallback was
  // taken. By this a later reading of the settings knows it again.
  config::SocketAddress asked;
  std::vector<UniqueFd> sockets;  // listening
};

// One that an edge listens on.
struct OpenAddress {
  std::uint32_t number = 0;
  ListenerKind kind = ListenerKind::plain;
  config::SocketAddress address;
  config::SocketAddress asked;
  std::vector<int> sockets;
};

struct BoundAddresses {
  std::vector<BoundAddress> addresses;
  std::vector<std::string> notices;  // for people: a fallback was taken, and how to get the standard port
};

// Errors: already_exists `port_in_use`, naming the holder where it can be seen; permission `port_forbidden`,
// if an address was asked for that only root may have; invalid_input, if it is none of this machine.
Result<BoundAddresses> open_listening_sockets(const ListenPlan& plan);

// What a plan asks for, as BoundAddress::asked tells it.
std::vector<config::SocketAddress> asked_addresses(const ListenPlan& plan, ListenerKind kind);

}  // namespace hedge::proxy
