#include "certs/firefox_profiles.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "base/file.h"
#include "base/text.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxIndex = 256UL << 10;
constexpr std::size_t kMostProfiles = 100;

// Firefox makes the first when it makes the profile, the second at the first start.
bool is_profile(const fs::path& directory) {
  return path_exists(directory / "times.json") || path_exists(directory / "cert9.db");
}

// The Path lines of profiles.ini: profiles that lie elsewhere, and those that were never started.
void add_named(const fs::path& place, std::vector<fs::path>& found) {
  const auto index = read_file(place / "profiles.ini", kMaxIndex);
  if (!index) return;
  constexpr std::string_view kKey = "Path=";
  for (std::string_view line : split(*index, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with(kKey) || line.size() == kKey.size()) continue;
    std::error_code failure;
    // An absolute path stays what it is.
    const fs::path directory = (place / std::string(line.substr(kKey.size()))).lexically_normal();
    if (fs::is_directory(directory, failure)) found.push_back(directory);
  }
}

void add_present(const fs::path& place, std::vector<fs::path>& found) {
  std::error_code failure;
  for (fs::directory_iterator at(place, failure), end; !failure && at != end; at.increment(failure)) {
    if (is_profile(at->path())) found.push_back(at->path());
  }
}

}  // namespace

std::vector<fs::path> firefox_profiles(const FirefoxPlaces& places) {
  const std::vector<fs::path> roots{places.home / ".mozilla/firefox",
                                    places.config_home / "mozilla/firefox",
                                    places.home / "snap/firefox/common/.mozilla/firefox",
                                    places.home / "snap/firefox/common/.config/mozilla/firefox",
                                    places.home / ".var/app/org.mozilla.firefox/.mozilla/firefox",
                                    places.home / ".var/app/org.mozilla.firefox/config/mozilla/firefox",
                                    places.home / ".librewolf"};
  std::vector<fs::path> profiles;
  for (const fs::path& root : roots) {
    std::vector<fs::path> found;
    add_named(root, found);
    add_present(root, found);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    profiles.insert(profiles.end(), found.begin(), found.end());
  }
  if (profiles.size() > kMostProfiles) profiles.resize(kMostProfiles);
  return profiles;
}

}  // namespace hedge::certs
