// Where Firefox and its relatives keep the profiles of this user, each with trust of its own.
#pragma once

#include <filesystem>
#include <vector>

namespace hedge::certs {

struct FirefoxPlaces {
  std::filesystem::path home;
  std::filesystem::path config_home;  // $XDG_CONFIG_HOME, else ~/.config
};
// Directories of profiles that were started at least once, or that profiles.ini names: of Debian's package, of the
// archive, of the snap and of the flatpak; also LibreWolf's. Sorted within each place.
std::vector<std::filesystem::path> firefox_profiles(const FirefoxPlaces& places);

}  // namespace hedge::certs
