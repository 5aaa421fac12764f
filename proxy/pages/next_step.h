// What somebody who sees an error of the edge does next.
#pragma once

#include <string>

#include "proxy/error_page.h"

namespace hedge::proxy {

struct NextStep {
  std::string command;  // exact, to be run as it stands
  std::string advice;   // what else helps, for people; may be empty
};

// A command that the error itself names comes first, but for a stopped or missing container of a worktree:
// its whole stack is started.
NextStep next_step(const ErrorReport& report);

}  // namespace hedge::proxy
