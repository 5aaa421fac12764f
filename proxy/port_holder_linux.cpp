#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "proxy/port_holder.h"

namespace hedge::proxy {
namespace {

constexpr const char* kListenState = "0A";

// One line of /proc/net/tcp: sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …
void add_listening_inodes(const char* table, std::uint16_t port, std::set<std::string>& inodes) {
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
    if (local_port == port) inodes.insert("socket:[" + inode + "]");
  }
}

bool holds_one(const std::filesystem::path& process, const std::set<std::string>& inodes) {
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(process / "fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    std::error_code unreadable;
    if (inodes.contains(std::filesystem::read_symlink(it->path(), unreadable).string())) return true;
  }
  return false;
}

}  // namespace

std::optional<PortHolder> find_port_holder(std::uint16_t port) {
  std::set<std::string> inodes;
  add_listening_inodes("/proc/net/tcp", port, inodes);
  add_listening_inodes("/proc/net/tcp6", port, inodes);
  if (inodes.empty()) return std::nullopt;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator("/proc", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const auto pid = parse_number<int>(it->path().filename().string());
    if (!pid || !holds_one(it->path(), inodes)) continue;
    const Result<std::string> name = read_file(it->path() / "comm");
    return PortHolder{*pid, name ? std::string(trim(*name)) : std::string()};
  }
  return std::nullopt;
}

}  // namespace hedge::proxy
