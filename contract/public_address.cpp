#include "contract/public_address.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "router/host_pattern.h"
#include "worktree/names.h"
#include "worktree/plan.h"

namespace hedge::contract {
namespace {

constexpr std::uint16_t kUsualPort = 443;

std::string origin_of(const config::ProjectConfig& config, std::string_view key) {
  const auto found = std::ranges::find(config.effective, key, &config::EffectiveValue::key);
  return found == config.effective.end() ? std::string(config::kProjectConfigFile) : found->origin;
}

Result<void> require_host(const std::string& host, const std::string& origin, std::string_view key) {
  const auto canonical = router::canonical_host(host);
  if (canonical && *canonical == host) return {};
  const std::string why = canonical ? "it is not in its canonical form" : canonical.error().text();
  return Error(ErrorKind::invalid_input, origin + ": \"" + std::string(key) + "\" can give no hostname: " + why)
      .with_id("config_invalid")
      .with_hint("placeholders are {app} and {slug}; a slug has up to " + std::to_string(worktree::kMaxSlugBytes) + " bytes");
}

}  // namespace

Result<void> require_hostnames(const config::ProjectConfig& config) {
  const worktree::NameRules rules = worktree::name_rules(config);
  // The longest slug, and one that is a number: a name whose last part is one is an address.
  for (const std::string& slug : {std::string(worktree::kMaxSlugBytes, 'x'), std::string("1")}) {
    const std::string host = worktree::derive_names(config.app.name, slug, rules).host;
    if (auto valid = require_host(host, origin_of(config, "app.host"), "app.host"); !valid) return valid;
  }
  const std::string main = worktree::derive_main_names(config.app.name, rules).host;
  return require_host(main, origin_of(config, "app.main_host"), "app.main_host");
}

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
