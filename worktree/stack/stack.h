// What runs a worktree's application, whatever runs it: the three verbs of a Resource, and stopping without
// removing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "worktree/resource.h"

namespace hedge::worktree {

enum class ServiceState {
  absent,   // never started, or removed
  stopped,  // ended because somebody asked for it; converge() starts the same one again
  running,
  failed,  // ended by itself; `detail` says how
};
std::string_view to_string(ServiceState state);

struct ServiceStatus {
  std::string name;
  ServiceState state = ServiceState::absent;
  std::string detail;         // "exited with 1", or empty
  std::string instance;       // process id, or container id: the same as long as nothing was restarted
  std::uint16_t port = 0;     // 0: none
  std::filesystem::path log;  // empty: the engine keeps it
  // What a container of ours was started with; absent: a process of this machine, which shows its own, or main's.
  std::optional<Environment> environment{};
};

class Stack : public Resource {
 public:
  std::string kind() const override { return "stack"; }
  // Of every configured service, in the configured order.
  virtual Result<std::vector<ServiceStatus>> load_status() = 0;
  // Ends everything and keeps what is needed to start the same again. Idempotent.
  virtual Result<Change> stop() = 0;
};

}  // namespace hedge::worktree
