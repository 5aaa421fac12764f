// The edge as a background process: started in a session of its own, ended by its process id.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "router/edge_client.h"

namespace hedge::cli {

struct EdgeLaunch {
  std::vector<std::string> argv;
  std::filesystem::path log;                // appended to, 0600
  std::chrono::milliseconds limit{15'000};  // until the control socket answers
};

// Returns what the new edge says about itself.
// Errors: `edge_start_failed`, with the end of its log, if it ends or does not answer in time (then it is
// ended).
Result<router::EdgeStatus> launch_edge(const EdgeLaunch& launch, const router::EdgeClient& client);

// Sends SIGTERM and waits until the process is gone. A process that is gone already is success.
// Errors: permission; timed_out `edge_unresponsive`.
Result<void> end_process(pid_t pid, std::chrono::milliseconds limit);

// The program that is running now.
Result<std::filesystem::path> own_program();

}  // namespace hedge::cli
