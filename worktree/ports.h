// TCP ports for processes, allocated machine-wide so that two worktrees never meet on one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "worktree/state_database.h"

namespace hedge::worktree {

inline constexpr std::uint16_t kFirstPort = 21000;
inline constexpr std::uint16_t kLastPort = 28999;

class Ports {
 public:
  explicit Ports(StateDatabase& state) : state_(state) {}

  using ByService = std::map<std::string, std::uint16_t>;

  Result<ByService> load(std::string_view worktree);
  // One port for each of `services`, kept for the worktree's life. A new one is recorded by nobody and could
  // be bound on loopback at the time. Errors: no_space `ports_exhausted`; state errors.
  Result<ByService> ensure(std::string_view worktree, const std::vector<std::string>& services);
  // What ensure() would give, recording nothing.
  Result<ByService> propose(std::string_view worktree, const std::vector<std::string>& services);
  // Gives one up and takes another, because somebody else listens on it.
  Result<std::uint16_t> replace(std::string_view worktree, std::string_view service);

 private:
  StateDatabase& state_;
};

// True if 127.0.0.1 and (where the machine has it) ::1 can be bound at `port` now.
bool can_bind_loopback(std::uint16_t port);

}  // namespace hedge::worktree
