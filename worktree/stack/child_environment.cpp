#include "worktree/stack/child_environment.h"

#include <algorithm>
#include <array>

namespace hedge::worktree {
namespace {

constexpr std::array<std::string_view, 5> kScrubbedPrefixes{"GIT_", "COMPOSE_", "DOCKER_", "HEDGE_", "PG"};

// What frameworks take their services and their place from. A value left over from another worktree's shell
// would win over the environment file.
constexpr std::array<std::string_view, 13> kScrubbedNames{"DATABASE_URL",
                                                          "TEST_DATABASE_URL",
                                                          "DATABASE_TEST_URL",
                                                          "REDIS_URL",
                                                          "AMQP_URL",
                                                          "RABBITMQ_URL",
                                                          "MONGODB_URI",
                                                          "SESSION_COOKIE",
                                                          "PORT",
                                                          "HOST",
                                                          "OLDPWD",
                                                          "PWD",
                                                          "NOTIFY_SOCKET"};

constexpr std::array<std::string_view, 7> kEngineNames{
    "DOCKER_HOST",       "DOCKER_CONTEXT",     "DOCKER_CONFIG",  "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION", "DOCKER_BUILDKIT"};

}  // namespace

bool is_scrubbed(std::string_view name) {
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return std::any_of(kScrubbedPrefixes.begin(), kScrubbedPrefixes.end(), begins) ||
         std::find(kScrubbedNames.begin(), kScrubbedNames.end(), name) != kScrubbedNames.end();
}

Environment environment_for_process(const Environment& inherited, const Environment& own,
                                    std::string_view withheld) {
  Environment out = own;
  for (const auto& [name, value] : inherited) {
    if (!is_scrubbed(name) && name != withheld) out.emplace(name, value);
  }
  return out;
}

Environment environment_for_compose(const Environment& inherited) {
  Environment out;
  for (const auto& [name, value] : inherited) {
    const bool is_engine = std::find(kEngineNames.begin(), kEngineNames.end(), name) != kEngineNames.end();
    if (is_engine || !is_scrubbed(name)) out.emplace(name, value);
  }
  return out;
}

}  // namespace hedge::worktree
