#include "proxy/upstream/endpoint.h"

#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "proxy/stream/socket_address.h"

namespace hedge::proxy {
namespace {

template <class Address>
void store(sockaddr_storage& storage, const Address& address) {
  static_assert(sizeof(Address) <= sizeof(sockaddr_storage));
  std::memcpy(&storage, &address, sizeof address);
}

}  // namespace

std::optional<Endpoint> Endpoint::from_ip(std::string_view ip, std::uint16_t port) {
  const std::string text(ip);
  Endpoint endpoint;
  sockaddr_in ipv4{};
  if (::inet_pton(AF_INET, text.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    store(endpoint.storage_, ipv4);
    endpoint.length_ = sizeof ipv4;
    return endpoint;
  }
  sockaddr_in6 ipv6{};
  if (::inet_pton(AF_INET6, text.c_str(), &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    store(endpoint.storage_, ipv6);
    endpoint.length_ = sizeof ipv6;
    return endpoint;
  }
  return std::nullopt;
}

std::optional<Endpoint> Endpoint::from_unix_path(std::string_view path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return std::nullopt;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  Endpoint endpoint;
  store(endpoint.storage_, address);
  endpoint.length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return endpoint;
}

std::string Endpoint::to_string() const {
  if (is_unix()) {
    sockaddr_un address{};
    std::memcpy(&address, &storage_, sizeof address);
    return address.sun_path;
  }
  const SocketAddress address = SocketAddress::of(storage_);
  const bool brackets = address.ip.find(':') != std::string::npos;
  return (brackets ? "[" + address.ip + "]" : address.ip) + ":" + std::to_string(address.port);
}

bool Endpoint::operator==(const Endpoint& other) const noexcept {
  return length_ == other.length_ && std::memcmp(&storage_, &other.storage_, length_) == 0;
}

}  // namespace hedge::proxy
