#include "proxy/control/edge_claim.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include <fcntl.h>

#include "base/file_lock.h"
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
    return EdgeClaim(state, UniqueFd());
  }
  // Commands that know the state directory only find a socket of another place through this note.
  if (auto noted = router::note_control_socket(state, control_socket); !noted) {
    log::warning("{}", std::move(noted).error().with_context("note where the control socket is").to_string());
  }
  UniqueFd held(::fcntl(lock->descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!held) return Error::from_errno(errno, "keep the lock of the state directory");
  return EdgeClaim(state, std::move(held));
}

EdgeClaim EdgeClaim::adopt(fs::path state, UniqueFd lock) {
  EdgeClaim claim(std::move(state), std::move(lock));
  claim.owns_note_ = false;
  return claim;
}

EdgeClaim::EdgeClaim(fs::path state, UniqueFd lock) : state_(std::move(state)), lock_(std::move(lock)) {}

EdgeClaim::~EdgeClaim() {
  if (!state_.empty() && owns_note_ && lock_) (void)router::forget_control_socket(state_);
}

}  // namespace hedge::proxy
