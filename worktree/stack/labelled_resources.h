// Everything that a container engine has under one label: what a stack leaves nothing of.
#pragma once

#include "base/result.h"
#include "worktree/stack/docker_engine.h"

namespace hedge::worktree {

// Stops and removes containers, networks and volumes that carry `labels`, until the engine says that there
// are none; at most about 10 s after the last container has ended. False: there was nothing. Requires: labels
// that nobody else uses. Errors: conflict (something still uses one of them), timed_out, those of the engine.
Result<bool> remove_labelled(DockerEngine& engine, const Labels& labels);

}  // namespace hedge::worktree
