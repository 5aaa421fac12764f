#include "config/paths.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

namespace hedge::config {
namespace fs = std::filesystem;

namespace {

// XDG: a relative path is invalid and must be ignored.
std::optional<fs::path> absolute_from(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  fs::path path(found->second);
  if (!path.is_absolute()) return std::nullopt;
  return path;
}

std::optional<fs::path> home_of_password_database() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::nullopt;
  }
  if (entry.pw_dir == nullptr || *entry.pw_dir != '/') return std::nullopt;
  return fs::path(entry.pw_dir);
}

bool is_usable_directory(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

fs::path private_temporary() { return fs::path("/tmp") / ("hedge-" + std::to_string(::getuid())); }

// /tmp is everybody's: a directory that another user made there must not hold our keys.
Result<void> check_owner(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (S_ISDIR(info.st_mode) && info.st_uid == ::geteuid()) return {};
  return Error(ErrorKind::permission, path.string() + " belongs to somebody else")
      .with_id("state_unreadable")
      .with_hint("choose another place with --state-dir");
}

std::optional<fs::path> find_home(const Environment& environment) {
  auto home = absolute_from(environment, "HOME");
  if (home && is_usable_directory(*home)) return home;
  home = home_of_password_database();
  if (home && is_usable_directory(*home)) return home;
  return std::nullopt;
}

// Short and distinct for each explicit state directory.
fs::path runtime_for(const fs::path& state) {
  return private_temporary() / ("r-" + to_base32(sha256(state.string())).substr(0, 10));
}

}  // namespace

Result<Paths> find_paths(const std::optional<fs::path>& state_dir, const Environment& environment) {
  const auto home = find_home(environment);
  const auto config_home = absolute_from(environment, "XDG_CONFIG_HOME");
  Paths paths;
  paths.config = (config_home ? *config_home : home.value_or(private_temporary()) / ".config") / "hedge/config.toml";
  auto chosen = state_dir;
  if (!chosen) chosen = absolute_from(environment, "HEDGE_STATE_DIR");
  if (chosen) {
    std::error_code failure;
    paths.state = fs::absolute(*chosen, failure).lexically_normal();
    paths.runtime = runtime_for(paths.state);
    return paths;
  }
  const auto state_home = absolute_from(environment, "XDG_STATE_HOME");
  if (state_home) {
    paths.state = *state_home / "hedge";
  } else if (home) {
    paths.state = *home / ".local/state/hedge";
  } else {
    paths.state = private_temporary() / "state";
  }
  const auto runtime = absolute_from(environment, "XDG_RUNTIME_DIR");
  const bool usable = runtime && is_usable_directory(*runtime) && runtime->string().size() < 60;
  paths.runtime = usable ? *runtime / "hedge" : runtime_for(paths.state);
  return paths;
}

Result<void> ensure_paths(const Paths& paths) {
  for (const fs::path& directory : {paths.state, paths.runtime}) {
    if (directory.string().starts_with(private_temporary().string())) {
      if (auto ready = ensure_directory(private_temporary(), 0700); !ready) return ready;
      if (auto checked = check_owner(private_temporary()); !checked) return checked;
    }
    if (auto ready = ensure_directory(directory, 0700); !ready) return ready;
  }
  return {};
}

}  // namespace hedge::config
