#include "certs/trust_stores.h"

#include <algorithm>
#include <array>
#include <utility>

#include <unistd.h>

#include "base/text.h"
#include "certs/nss_trust_store.h"
#include "certs/system_trust_store.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

std::string variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

// Chromium and its relatives read the user's NSS database on Linux.
bool has_nss_browser(const Environment& environment) {
  constexpr std::array<std::string_view, 7> kNames{
      "chromium",      "chromium-browser", "google-chrome", "google-chrome-stable",
      "brave-browser", "microsoft-edge",   "vivaldi"};
  const std::string path = variable(environment, "PATH");
  const auto directories = split(path, ':');
  return std::any_of(directories.begin(), directories.end(), [&](std::string_view directory) {
    return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
      return ::access((fs::path(directory) / name).c_str(), X_OK) == 0;
    });
  });
}

}  // namespace

AbsentTrustStore::AbsentTrustStore(std::string store, std::string detail, std::string command) {
  finding_.store = std::move(store);
  finding_.required = false;
  finding_.status = TrustStatus::skipped;
  finding_.detail = std::move(detail);
  finding_.command = std::move(command);
}

TrustFinding AbsentTrustStore::check(const TrustedRoot& /*root*/) {
  return finding_;
}
TrustFinding AbsentTrustStore::install(const TrustedRoot& /*root*/) {
  return finding_;
}
TrustFinding AbsentTrustStore::remove(std::string_view /*installation*/) {
  return finding_;
}
std::vector<std::string> AbsentTrustStore::manual_steps(const TrustedRoot& /*root*/) const {
  return {};
}

std::vector<std::unique_ptr<TrustStore>> find_trust_stores(const Environment& environment,
                                                           StoreSelection selection, CommandRunner& runner) {
  std::vector<std::unique_ptr<TrustStore>> stores;
  if (selection != StoreSelection::nss) {
    if (auto layout = find_system_store_layout()) {
      stores.push_back(std::make_unique<SystemTrustStore>(std::move(*layout), runner));
    } else {
      stores.push_back(std::make_unique<AbsentTrustStore>(
          "system", "this system has no store that Hedge knows", "sudo apt-get install ca-certificates"));
    }
  }
  if (selection == StoreSelection::system) return stores;
  const fs::path home = variable(environment, "HOME");
  if (!home.is_absolute()) {
    stores.push_back(std::make_unique<AbsentTrustStore>("nss", "there is no home directory", ""));
    return stores;
  }
  const fs::path data_home = variable(environment, "XDG_DATA_HOME");
  const NssPlaces places{home, data_home.is_absolute() ? data_home : home / ".local/share"};
  const bool browser_present = has_nss_browser(environment);
  for (fs::path& database : nss_databases(places)) {
    stores.push_back(std::make_unique<NssTrustStore>(std::move(database), browser_present, runner));
  }
  return stores;
}

}  // namespace hedge::certs
