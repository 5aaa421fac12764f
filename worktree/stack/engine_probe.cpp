#include "worktree/stack/engine_probe.h"

#include <unistd.h>

#include "base/text.h"

namespace hedge::worktree {
namespace {

bool is_installed(const Environment& environment, const char* program) {
  const auto path = environment.find("PATH");
  if (path == environment.end()) return false;
  for (const std::string_view directory : split(path->second, ':')) {
    const std::string file = std::string(directory) + "/" + program;
    if (!directory.empty() && ::access(file.c_str(), X_OK) == 0) return true;
  }
  return false;
}

// The same failure has another remedy when the user pointed us there.
Error unreachable(const EngineAddress& address, Error cause) {
  if (address.origin != EngineOrigin::default_socket) {
    const char* origin = address.origin == EngineOrigin::context ? "the docker context" : "DOCKER_HOST";
    return Error(ErrorKind::unavailable,
                 "no engine at " + printable(address.text) + ", where " + origin + " points")
        .with_id("engine_host_unreachable")
        .with_cause(std::move(cause));
  }
  return Error(ErrorKind::unavailable, "the Docker engine does not run: nobody at " + address.text)
      .with_id("engine_not_running")
      .with_cause(std::move(cause));
}

Error explain(const EngineAddress& address, const Environment& environment, Error cause,
              std::chrono::milliseconds limit) {
  switch (cause.kind()) {
    case ErrorKind::permission:
      return Error(ErrorKind::permission, "no permission to use " + address.text)
          .with_id("engine_permission")
          .with_hint(
              "the engine runs; this user may not use it: add the user to the docker group and log in again")
          .with_cause(std::move(cause));
    case ErrorKind::timed_out:
      return Error(ErrorKind::timed_out, "the engine at " + address.text + " did not answer within " +
                                             std::to_string(limit.count()) + " ms")
          .with_id("engine_unresponsive");
    case ErrorKind::not_found:
      if (address.origin == EngineOrigin::default_socket && !is_installed(environment, "docker")) {
        return Error(ErrorKind::not_found, "Docker is not installed").with_id("engine_not_installed");
      }
      return unreachable(address, std::move(cause));
    default:
      return unreachable(address, std::move(cause));
  }
}

}  // namespace

Result<EngineFacts> probe_engine(const Environment& environment, std::chrono::milliseconds limit) {
  auto address = find_engine_address(environment);
  if (!address) return address.error();
  HttpRequest ping;
  ping.target = "/_ping";
  const auto answer = http_fetch(address->address, ping, limit);
  if (!answer) return explain(*address, environment, answer.error(), limit);
  constexpr unsigned kOk = 200;
  if (answer->status != kOk) {
    return unreachable(*address, Error(ErrorKind::io, "/_ping answers " + std::to_string(answer->status)));
  }
  return EngineFacts{std::move(*address), std::string(answer->header("Api-Version"))};
}

}  // namespace hedge::worktree
