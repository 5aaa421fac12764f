// A socket's address as text and number, read from the kernel.
#pragma once

#include <cstdint>
#include <string>

#include <sys/socket.h>

namespace hedge::proxy {

struct SocketAddress {
  std::string ip;  // IPv4-mapped IPv6 as IPv4; without brackets; empty for a unix socket
  std::uint16_t port = 0;
  bool is_loopback = false;

  static SocketAddress of(const sockaddr_storage& address);
  // Empty, if the socket is not connected.
  static SocketAddress of_peer(int fd);
  static SocketAddress of_local(int fd);
};

// TCP connects a socket to itself when the system chooses for its own side the very address and port that it
// connects to (a simultaneous open, RFC 9293, section 3.5): nothing listens there, and everything written
// would come back.
bool is_connected_to_itself(int fd) noexcept;

}  // namespace hedge::proxy
