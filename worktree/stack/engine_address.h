// Where the container engine listens, as the docker command would find it.
#pragma once

#include <string>

#include "base/http_client.h"
#include "base/result.h"
#include "base/subprocess.h"

namespace hedge::worktree {

enum class EngineOrigin { default_socket, host_variable, context };

struct EngineAddress {
  HttpAddress address;
  EngineOrigin origin = EngineOrigin::default_socket;
  std::string text;  // as configured, for people
};

// DOCKER_HOST, else DOCKER_CONTEXT or the current context of $DOCKER_CONFIG/config.json, else
// /var/run/docker.sock. Errors: unsupported `engine_unsupported` (ssh://, TLS), invalid_input
// `engine_address_invalid`.
Result<EngineAddress> find_engine_address(const Environment& environment);

}  // namespace hedge::worktree
