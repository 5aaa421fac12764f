#include "proxy/control/edge_surroundings.h"

#include <algorithm>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "base/file.h"
#include "base/text.h"
#include "proxy/upstream/endpoint.h"

namespace hedge::proxy {
namespace {

constexpr std::size_t kIdLength = 64;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_ascii_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool is_same_network(const ifaddrs& interface, const in_addr& wanted) {
  if (interface.ifa_addr == nullptr || interface.ifa_netmask == nullptr) return false;
  if (interface.ifa_addr->sa_family != AF_INET || (interface.ifa_flags & IFF_UP) == 0) return false;
  const auto address = reinterpret_cast<const sockaddr_in*>(interface.ifa_addr)->sin_addr.s_addr;
  const auto mask = reinterpret_cast<const sockaddr_in*>(interface.ifa_netmask)->sin_addr.s_addr;
  return (address & mask) == (wanted.s_addr & mask);
}

using Interfaces = std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)>;

// Null where the system does not tell.
Interfaces list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) list = nullptr;
  return {list, &::freeifaddrs};
}

bool has_address(const ifaddrs& interface, const Endpoint& wanted) {
  if (interface.ifa_addr == nullptr || interface.ifa_addr->sa_family != wanted.family()) return false;
  if (wanted.family() == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(interface.ifa_addr)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(wanted.address())->sin_addr.s_addr;
  }
  return IN6_ARE_ADDR_EQUAL(&reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr)->sin6_addr,
                            &reinterpret_cast<const sockaddr_in6*>(wanted.address())->sin6_addr);
}

}  // namespace

std::optional<std::string> own_container_in(std::string_view mountinfo) {
  constexpr std::string_view kBefore = "/containers/";
  for (std::size_t at = mountinfo.find(kBefore); at != std::string_view::npos;
       at = mountinfo.find(kBefore, at + 1)) {
    const std::string_view rest = mountinfo.substr(at + kBefore.size());
    const std::string_view id = rest.substr(0, kIdLength);
    if (id.size() == kIdLength && is_hex(id) && rest.substr(kIdLength).starts_with('/'))
      return std::string(id);
  }
  return std::nullopt;
}

std::optional<std::string> find_own_container() {
  // The engine puts this file into every container. A host that mounts container directories has none.
  if (!path_exists("/.dockerenv")) return std::nullopt;
  const auto mountinfo = read_file("/proc/self/mountinfo");
  return mountinfo ? own_container_in(*mountinfo) : std::nullopt;
}

bool is_on_connected_network(const std::string& ip) {
  in_addr wanted{};
  if (::inet_pton(AF_INET, ip.c_str(), &wanted) != 1) return false;
  const Interfaces interfaces = list_interfaces();
  for (const ifaddrs* interface = interfaces.get(); interface != nullptr; interface = interface->ifa_next) {
    if (is_same_network(*interface, wanted)) return true;
  }
  return false;
}

bool is_address_of_this_host(const std::string& ip) {
  if (ip.starts_with("127.") || ip == "::1") return true;
  const std::optional<Endpoint> wanted = Endpoint::from_ip(ip, 0);
  if (!wanted) return false;
  const Interfaces interfaces = list_interfaces();
  for (const ifaddrs* interface = interfaces.get(); interface != nullptr; interface = interface->ifa_next) {
    if (has_address(*interface, *wanted)) return true;
  }
  return false;
}

}  // namespace hedge::proxy
