// The environment that a running process really has.
#pragma once

#include <optional>

#include <sys/types.h>

#include "base/subprocess.h"

namespace hedge::contract {

// Absent: the process is gone, is somebody else's, or this system does not tell.
std::optional<Environment> load_process_environment(pid_t process);

}  // namespace hedge::contract
