// A socket address of an upstream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace hedge::proxy {

class Endpoint {
 public:
  // Absent: not an IP literal (IPv6 without brackets).
  static std::optional<Endpoint> from_ip(std::string_view ip, std::uint16_t port);
  // Absent: longer than 107 bytes, or empty.
  static std::optional<Endpoint> from_unix_path(std::string_view path);

  const sockaddr* address() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const noexcept { return length_; }
  int family() const noexcept { return storage_.ss_family; }
  bool is_unix() const noexcept { return family() == AF_UNIX; }
  // "127.0.0.1:80", "[::1]:80" or the path.
  std::string to_string() const;
  bool operator==(const Endpoint& other) const noexcept;

 private:
  Endpoint() = default;
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

}  // namespace hedge::proxy
