#include "worktree/resource.h"

namespace hedge::worktree {

std::string_view to_string(Action action) {
  switch (action) {
    case Action::none: return "none";
    case Action::created: return "created";
    case Action::updated: return "updated";
    case Action::removed: return "removed";
    case Action::started: return "started";
    case Action::stopped: return "stopped";
  }
  return "none";
}

}  // namespace hedge::worktree
