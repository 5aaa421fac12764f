#include "worktree/git/git_environment.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hedge::worktree {
namespace {

// A list of what may stay is safer than one of what must go: every git adds variables.
// Source: git(1), ENVIRONMENT VARIABLES; `git rev-parse --local-env-vars` prints what belongs to one
// repository.
constexpr std::array<std::string_view, 8> kPersonal{
    "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM",
    "GIT_EDITOR",  "GIT_EXEC_PATH",     "GIT_PROXY_COMMAND",   "GIT_TERMINAL_PROMPT"};
constexpr std::array<std::string_view, 6> kPersonalPrefixes{"GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH",
                                                            "GIT_SSL_",    "GIT_HTTP_",      "GIT_TRACE"};

bool is_personal(std::string_view name) {
  return std::ranges::find(kPersonal, name) != kPersonal.end() ||
         std::ranges::any_of(kPersonalPrefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

Environment without_repository_variables(Environment environment) {
  std::erase_if(environment, [](const auto& variable) {
    return variable.first.starts_with("GIT_") && !is_personal(variable.first);
  });
  return environment;
}

}  // namespace hedge::worktree
