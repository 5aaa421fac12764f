#include "proxy/port_holder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/file.h"
#include "base/text.h"

namespace hedge::proxy {
namespace {

constexpr const char* kListenState = "0A";

using Address = std::array<unsigned char, 16>;  // of IPv6; one of IPv4 is mapped into it

struct ListeningSocket {
  Address address{};
  bool is_ipv6 = false;
  std::string link;  // what a descriptor of it is a link to
};

Address mapped(const in_addr& ipv4) {
  Address address{};
  address[10] = address[11] = 0xff;
  std::memcpy(address.data() + 12, &ipv4, sizeof ipv4);
  return address;
}

// The table prints the address as words of 32 bits in the machine's own order.
Address address_in(std::string_view words) {
  std::array<std::uint32_t, 4> numbers{};
  const std::size_t count = std::min<std::size_t>(words.size() / 8, numbers.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view word = words.substr(i * 8, 8);
    std::from_chars(word.data(), word.data() + word.size(), numbers[i], 16);
  }
  if (count == 1) {
    in_addr ipv4{};
    std::memcpy(&ipv4, numbers.data(), sizeof ipv4);
    return mapped(ipv4);
  }
  Address address{};
  std::memcpy(address.data(), numbers.data(), address.size());
  return address;
}

// One line of /proc/net/tcp: sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …
void add_listening(const char* table, std::uint16_t port, std::vector<ListeningSocket>& sockets) {
  const Result<std::string> text = read_file(table);
  if (!text) return;
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);  // the heading
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    fields >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >>
        inode;
    const std::size_t colon = local.rfind(':');
    if (state != kListenState || colon == std::string::npos) continue;
    unsigned local_port = 0;
    std::from_chars(local.data() + colon + 1, local.data() + local.size(), local_port, 16);
    if (local_port != port) continue;
    sockets.push_back(
        {address_in(std::string_view(local).substr(0, colon)), colon > 8, "socket:[" + inode + "]"});
  }
}

std::vector<ListeningSocket> listening_on(std::uint16_t port) {
  std::vector<ListeningSocket> sockets;
  add_listening("/proc/net/tcp", port, sockets);
  add_listening("/proc/net/tcp6", port, sockets);
  return sockets;
}

// Whether it keeps one from listening on `wanted`, which takes no IPv4 if it is of IPv6.
bool is_in_the_way(const ListeningSocket& socket, const Address& wanted, bool wanted_is_ipv6) {
  const Address any_ipv4 = mapped(in_addr{INADDR_ANY});
  const Address any_ipv6{};
  if (wanted_is_ipv6)
    return socket.is_ipv6 && (socket.address == wanted || socket.address == any_ipv6 || wanted == any_ipv6);
  // The table does not tell whether one on [::] takes IPv4.
  if (socket.is_ipv6 && socket.address == any_ipv6) return true;
  return socket.address == wanted || socket.address == any_ipv4 || (wanted == any_ipv4 && !socket.is_ipv6);
}

// How many of these sockets a process has a descriptor of.
std::size_t count_held(const std::filesystem::path& process, std::set<std::string> links) {
  const std::size_t all = links.size();
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(process / "fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    std::error_code unreadable;
    links.erase(std::filesystem::read_symlink(it->path(), unreadable).string());
  }
  return all - links.size();
}

}  // namespace

std::optional<PortHolder> find_port_holder(std::uint16_t port) {
  std::set<std::string> inodes;
  for (ListeningSocket& socket : listening_on(port)) inodes.insert(std::move(socket.link));
  if (inodes.empty()) return std::nullopt;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator("/proc", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const auto pid = parse_number<int>(it->path().filename().string());
    if (!pid || count_held(it->path(), inodes) == 0) continue;
    const Result<std::string> name = read_file(it->path() / "comm");
    return PortHolder{*pid, name ? std::string(trim(*name)) : std::string()};
  }
  return std::nullopt;
}

bool is_held_by_this_process(const std::string& ip, std::uint16_t port) {
  Address wanted{};
  in_addr ipv4{};
  const bool is_ipv6 = ::inet_pton(AF_INET6, ip.c_str(), wanted.data()) == 1;
  if (!is_ipv6) {
    if (::inet_pton(AF_INET, ip.c_str(), &ipv4) != 1) return false;
    wanted = mapped(ipv4);
  }
  std::set<std::string> links;
  for (ListeningSocket& socket : listening_on(port)) {
    if (is_in_the_way(socket, wanted, is_ipv6)) links.insert(std::move(socket.link));
  }
  return !links.empty() && count_held("/proc/self", links) == links.size();
}

}  // namespace hedge::proxy
