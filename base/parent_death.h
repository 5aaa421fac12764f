// Ending a child together with its parent. What only one system has is behind this header.
#pragma once

#include <sys/types.h>

namespace hedge {

// Called in a new child between fork and exec: SIGTERM arrives as soon as the parent's thread is gone.
// Async-signal-safe. Does not return if the parent is gone already.
void end_with_parent(pid_t parent);

}  // namespace hedge
