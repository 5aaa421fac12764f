// Telling one process from another that got its number later. What only one system has is behind this header.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace hedge::worktree {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_time =
      0;             // in the system's own unit, since boot: with the pid unique until the next boot
  std::string boot;  // identifies the boot
  bool operator==(const ProcessIdentity&) const = default;
};

// Absent if there is no such process, or only its unreaped remains.
std::optional<ProcessIdentity> find_process(pid_t pid);
// As find_process(), but a child that has ended and was not waited for is found too: its number cannot be
// given away yet.
std::optional<ProcessIdentity> find_unreaped(pid_t pid);
inline bool is_alive(const ProcessIdentity& process) {
  return find_process(process.pid) == process;
}

// Signals exactly this process, never another one that got its number. False: it is gone.
bool signal_process(const ProcessIdentity& process, int number);

// Every living process of this user, but the caller, whose environment at its start held `name` with a value
// that begins with `prefix`: finds what a service started and left behind, in whatever session. One that has
// overwritten its environment is not found. Requires: a prefix that nobody else has (a random one).
std::vector<ProcessIdentity> find_marked(std::string_view name, std::string_view prefix);
// The living members of the session that `leader` leads; empty once the leader has been reaped.
std::vector<ProcessIdentity> find_session(const ProcessIdentity& leader);
// The living descendants of the caller.
std::vector<ProcessIdentity> find_descendants();

// From now on orphaned descendants become children of the caller instead of init's.
Result<void> adopt_orphans();

}  // namespace hedge::worktree
