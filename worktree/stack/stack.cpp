#include "worktree/stack/stack.h"

namespace hedge::worktree {

std::string_view to_string(ServiceState state) {
  switch (state) {
    case ServiceState::absent:
      return "absent";
    case ServiceState::stopped:
      return "stopped";
    case ServiceState::running:
      return "running";
    case ServiceState::failed:
      return "failed";
  }
  return "absent";
}

}  // namespace hedge::worktree
