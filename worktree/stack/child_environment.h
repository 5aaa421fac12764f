// What a worktree's programs inherit from whoever started them: as little as would change what they are.
#pragma once

#include <string_view>

#include "base/subprocess.h"

namespace hedge::worktree {

// True for a variable that would send a program to another repository, project, engine or database than its
// worktree's: GIT_*, COMPOSE_*, DOCKER_*, HEDGE_*, PG*, and the usual names of service URLs and ports.
bool is_scrubbed(std::string_view name);

// `inherited` without what is_scrubbed() and without the variable `withheld` (where the administrator's URL of the
// database is, say), and over it `own`, which always wins.
Environment environment_for_process(const Environment& inherited, const Environment& own,
                                    std::string_view withheld = {});

// For docker and docker-compose themselves: as above, but DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG and what
// TLS to the engine needs are kept.
Environment environment_for_compose(const Environment& inherited);

}  // namespace hedge::worktree
