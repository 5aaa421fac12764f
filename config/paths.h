// Where Hedge keeps its things on this machine.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "base/subprocess.h"

namespace hedge::config {

// Files of one state directory. Everything Hedge remembers is below `state`, sockets below `runtime`.
struct Paths {
  std::filesystem::path state;    // 0700
  std::filesystem::path runtime;  // 0700, short: socket paths are limited to 107 bytes
  std::filesystem::path config;   // the user-wide settings file; need not exist

  std::filesystem::path routes_database() const { return state / "routes.db"; }
  std::filesystem::path registry_database() const { return state / "registry.db"; }
  std::filesystem::path ca_directory() const { return state / "ca"; }
  std::filesystem::path locks_directory() const { return state / "locks"; }
  std::filesystem::path logs_directory() const { return state / "logs"; }
  std::filesystem::path stacks_directory() const { return state / "stacks"; }
  std::filesystem::path edge_settings() const { return state / "edge.json"; }  // remembered port fallback
  std::filesystem::path control_socket() const { return runtime / "edge.sock"; }
};

// `state_dir`: from --state-dir or HEDGE_STATE_DIR, else $XDG_STATE_HOME/hedge, else ~/.local/share… as XDG says, else the
// password database's home, else /tmp/hedge-UID (0700, owner checked). A relative or empty XDG value or HOME is ignored.
// The runtime directory is $XDG_RUNTIME_DIR/hedge where that exists, else /tmp/hedge-UID/run; with an explicit state
// directory it is derived from that directory, so that two state directories never share a socket.
// Creates nothing. Errors: permission (the fallback directory belongs to somebody else).
Result<Paths> find_paths(const std::optional<std::filesystem::path>& state_dir, const Environment& environment);

// Creates the state and runtime directories (0700).
Result<void> ensure_paths(const Paths& paths);

}  // namespace hedge::config
