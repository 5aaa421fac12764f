#include "proxy/stream/socket_address.h"

#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace hedge::proxy {
namespace {

SocketAddress of_ipv4(const in_addr& address, std::uint16_t port) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address, text.data(), text.size());
  const bool loopback = (ntohl(address.s_addr) >> 24) == 127;
  return {text.data(), port, loopback};
}

SocketAddress of_ipv6(const sockaddr_in6& address) {
  const std::uint16_t port = ntohs(address.sin6_port);
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
    in_addr ipv4{};
    std::memcpy(&ipv4, &address.sin6_addr.s6_addr[12], sizeof ipv4);
    return of_ipv4(ipv4, port);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
  return {text.data(), port, IN6_IS_ADDR_LOOPBACK(&address.sin6_addr) != 0};
}

}  // namespace

SocketAddress SocketAddress::of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address, sizeof ipv4);
    return of_ipv4(ipv4.sin_addr, ntohs(ipv4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address, sizeof ipv6);
    return of_ipv6(ipv6);
  }
  return {{}, 0, address.ss_family == AF_UNIX};
}

SocketAddress SocketAddress::of_peer(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return of(address);
}

SocketAddress SocketAddress::of_local(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return of(address);
}

bool is_connected_to_itself(int fd) noexcept {
  sockaddr_storage local{};
  sockaddr_storage peer{};
  socklen_t local_length = sizeof local;
  socklen_t peer_length = sizeof peer;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_length) != 0) return false;
  if (local.ss_family != AF_INET && local.ss_family != AF_INET6) return false;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0) return false;
  return local_length == peer_length && std::memcmp(&local, &peer, local_length) == 0;
}

}  // namespace hedge::proxy
