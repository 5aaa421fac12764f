#include "contract/public_address.h"

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace hedge::contract {
namespace {

constexpr std::uint16_t kUsualPort = 443;

}  // namespace

std::uint16_t load_https_port(const config::Paths& paths) {
  const auto text = read_file(paths.edge_settings(), 64U << 10);
  if (!text) return kUsualPort;
  const auto settings = nlohmann::json::parse(*text, nullptr, false);
  if (!settings.is_object()) return kUsualPort;
  const auto port = settings.find("https_port");
  if (port == settings.end() || !port->is_number_unsigned()) return kUsualPort;
  const auto number = port->get<std::uint64_t>();
  return number == 0 || number > 65535 ? kUsualPort : static_cast<std::uint16_t>(number);
}

std::string public_url(const std::string& host, std::uint16_t https_port) {
  return "https://" + host + (https_port == kUsualPort ? "" : ":" + std::to_string(https_port));
}

}  // namespace hedge::contract
