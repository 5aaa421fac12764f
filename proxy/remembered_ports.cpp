#include "proxy/remembered_ports.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace hedge::proxy {
namespace {

constexpr std::size_t kMostBytes = 64UL << 10;

std::uint16_t port_of(const nlohmann::json& ports, const char* name) {
  const auto found = ports.find(name);
  if (found == ports.end() || !found->is_number_unsigned()) return 0;
  const auto number = found->get<std::uint64_t>();
  return number > std::numeric_limits<std::uint16_t>::max() ? 0 : static_cast<std::uint16_t>(number);
}

}  // namespace

RememberedPorts load_remembered_ports(const std::filesystem::path& file) {
  const auto text = read_file(file, kMostBytes);
  if (!text) return {};
  const auto ports = nlohmann::json::parse(*text, nullptr, false);
  if (!ports.is_object()) return {};
  return {port_of(ports, "http_port"), port_of(ports, "https_port")};
}

Result<void> remember_ports(const std::filesystem::path& file, const RememberedPorts& ports) {
  const nlohmann::json out = {{"http_port", ports.plain}, {"https_port", ports.tls}};
  return write_file_atomically(file, out.dump() + "\n", 0600);
}

}  // namespace hedge::proxy
