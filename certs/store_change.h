// How a store that belongs to the system is changed: as we are where we may, else through a sudo that cannot ask.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "certs/trust_store.h"

namespace hedge::certs {

using StoreCommands = std::vector<std::vector<std::string>>;

struct StoreChange {
  StoreCommands commands;
  bool is_direct = true;                     // false: through `sudo -n`
  std::chrono::milliseconds limit{};         // of each command
  std::optional<Environment> environment{};  // the complete one; absent: inherited
};
// Runs them in order up to the first that fails. False: `finding` has status, error, detail and the command that
// a person can run: needs_root where only sudo was missing, failed otherwise.
bool run_change(CommandRunner& runner, const StoreChange& change, TrustFinding& finding);

// The line that a person runs to do the same.
std::string manual_line(const StoreCommands& commands, bool is_direct);

// What `find_trust_stores` says to install where a tool is missing: the line of this system's package manager.
struct PackageNames {
  std::string debian;
  std::string fedora;
  std::string arch;
  std::string suse;
  std::string alpine;
};
std::string install_line(const PackageNames& names);

}  // namespace hedge::certs
