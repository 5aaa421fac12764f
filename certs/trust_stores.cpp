#include "certs/trust_stores.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "base/text.h"
#include "certs/firefox_profiles.h"
#include "certs/java_trust_store.h"
#include "certs/nss_trust_store.h"
#include "certs/printed_trust_store.h"
#include "certs/store_change.h"
#include "certs/system_trust_store.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

std::string variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

using Stores = std::vector<std::unique_ptr<TrustStore>>;

bool has_program(const Environment& environment, std::initializer_list<std::string_view> names) {
  const std::string path = variable(environment, "PATH");
  const auto directories = split(path, ':');
  return std::any_of(directories.begin(), directories.end(), [&](std::string_view directory) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return ::access((fs::path(directory) / name).c_str(), X_OK) == 0;
    });
  });
}

// Chromium and its relatives read the user's NSS database on Linux.
bool has_nss_browser(const Environment& environment) {
  return has_program(environment, {"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
                                   "brave-browser", "microsoft-edge", "vivaldi"});
}

fs::path place_below_home(const Environment& environment, const char* name, const fs::path& otherwise) {
  const fs::path place = variable(environment, name);
  return place.is_absolute() ? place : otherwise;
}

Stores system_stores(CommandRunner& runner) {
  Stores stores;
  if (auto keychain = make_keychain_store()) {
    stores.push_back(std::move(keychain));
  } else if (auto layout = find_system_store_layout()) {
    stores.push_back(std::make_unique<SystemTrustStore>(std::move(*layout), runner));
  } else {
    const PackageNames package{"ca-certificates", "ca-certificates", "ca-certificates", "ca-certificates",
                               "ca-certificates"};
    stores.push_back(std::make_unique<AbsentTrustStore>("system", "this system has no store that Hedge knows",
                                                        install_line(package)));
  }
  return stores;
}

Stores nss_stores(const Environment& environment, const fs::path& home, CommandRunner& runner) {
  const NssPlaces places{home, place_below_home(environment, "XDG_DATA_HOME", home / ".local/share")};
  const NssNeed need = has_nss_browser(environment) ? NssNeed::required : NssNeed::optional;
  Stores stores;
  for (fs::path& database : nss_databases(places))
    stores.push_back(std::make_unique<NssTrustStore>(std::move(database), need, runner));
  return stores;
}

Stores firefox_stores(const Environment& environment, const fs::path& home, CommandRunner& runner) {
  Stores stores;
  const FirefoxPlaces places{home, place_below_home(environment, "XDG_CONFIG_HOME", home / ".config")};
  for (fs::path& profile : firefox_profiles(places)) {
    stores.push_back(
        std::make_unique<NssTrustStore>(std::move(profile), NssNeed::required, runner, NssOwner::firefox));
  }
  if (stores.empty() && has_program(environment, {"firefox", "firefox-esr", "librewolf"})) {
    stores.push_back(std::make_unique<AbsentTrustStore>(
        "firefox", "it makes its store at its first start; trust again after that",
        "hedge ca trust --store firefox"));
  }
  return stores;
}

Stores java_stores(const Environment& environment, CommandRunner& runner) {
  Stores stores;
  for (JavaInstallation& java : java_installations(environment))
    stores.push_back(std::make_unique<JavaTrustStore>(std::move(java), environment, runner));
  const std::string home = variable(environment, "JAVA_HOME");
  if (stores.empty() && (!home.empty() || has_program(environment, {"java"}))) {
    stores.push_back(std::make_unique<AbsentTrustStore>(
        "java", "neither JAVA_HOME nor the java in PATH has a keytool and a cacerts file", ""));
  }
  return stores;
}

Stores other_stores(const Environment& environment) {
  Stores stores;
  if (auto windows = make_windows_store(environment)) stores.push_back(std::move(windows));
  return stores;
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

std::vector<std::unique_ptr<TrustStore>> find_trust_stores(const Environment& environment, StoreKind kind,
                                                           CommandRunner& runner) {
  if (kind == StoreKind::system) return system_stores(runner);
  if (kind == StoreKind::java) return java_stores(environment, runner);
  if (kind == StoreKind::other) return other_stores(environment);
  const fs::path home = variable(environment, "HOME");
  if (home.is_absolute()) {
    return kind == StoreKind::nss ? nss_stores(environment, home, runner)
                                  : firefox_stores(environment, home, runner);
  }
  Stores stores;
  stores.push_back(std::make_unique<AbsentTrustStore>(kind == StoreKind::nss ? "nss" : "firefox",
                                                      "there is no home directory", ""));
  return stores;
}

std::vector<std::unique_ptr<TrustStore>> find_trust_stores(const Environment& environment,
                                                           CommandRunner& runner) {
  Stores all;
  for (const StoreKind kind : kStoreKinds) {
    for (auto& store : find_trust_stores(environment, kind, runner)) all.push_back(std::move(store));
  }
  return all;
}

bool is_the_systems(const Environment& environment, StoreKind kind) {
  if (kind == StoreKind::system) return true;
  if (kind != StoreKind::java) return false;
  const auto installations = java_installations(environment);
  return !installations.empty() &&
         std::all_of(installations.begin(), installations.end(),
                     [](const JavaInstallation& java) { return java.is_the_systems; });
}

}  // namespace hedge::certs
