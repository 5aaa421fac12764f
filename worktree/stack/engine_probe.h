// Is there a container engine, and if not, why not: causes that need different remedies are told apart.
#pragma once

#include <chrono>
#include <string>

#include "base/subprocess.h"
#include "worktree/stack/engine_address.h"

namespace hedge::worktree {

struct EngineFacts {
  EngineAddress address;
  std::string api_version;  // the engine's newest, such as "1.43"
};

// Asks the engine's /_ping.
// Errors: not_found `engine_not_installed` (no socket and no docker command), unavailable
// `engine_not_running` (no socket, or nobody behind it), unavailable `engine_host_unreachable` (the address
// came from DOCKER_HOST or a context), permission `engine_permission`, timed_out `engine_unresponsive`; those
// of find_engine_address().
Result<EngineFacts> probe_engine(const Environment& environment,
                                 std::chrono::milliseconds limit = std::chrono::seconds(1));

}  // namespace hedge::worktree
