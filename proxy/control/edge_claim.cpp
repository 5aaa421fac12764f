#include "proxy/control/edge_claim.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "router/edge_client.h"

namespace hedge::proxy {
namespace fs = std::filesystem;

namespace {

// As long as a command that only asks whether an edge lives may hold the lock.
constexpr std::chrono::milliseconds kLockLimit{250};

}  // namespace

Result<EdgeClaim> EdgeClaim::take(const fs::path& state, const fs::path& control_socket) {
  auto lock = FileLock::acquire(router::edge_lock(state), FileLock::Mode::exclusive, kLockLimit);
  if (!lock && lock.error().kind() == ErrorKind::busy) {
    return Error(ErrorKind::already_exists, "an edge is already running for " + state.string())
        .with_id("edge_already_running")
        .with_cause(std::move(lock).error());
  }
  if (!lock) {
    log::warning("{}", std::move(lock).error().with_context("lock the state directory").to_string());
    return EdgeClaim(state, std::nullopt);
  }
  // Commands that know the state directory only find a socket of another place through this note.
  if (auto noted = router::note_control_socket(state, control_socket); !noted) {
    log::warning("{}",
                 std::move(noted).error().with_context("note where the control socket is").to_string());
  }
  return EdgeClaim(state, std::move(*lock));
}

EdgeClaim::EdgeClaim(fs::path state, std::optional<FileLock> lock)
    : state_(std::move(state)), lock_(std::move(lock)) {}

EdgeClaim::~EdgeClaim() {
  if (!state_.empty() && lock_) (void)router::forget_control_socket(state_);
}

}  // namespace hedge::proxy
