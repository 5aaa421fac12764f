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
  UniqueFd held;
  if (lock) {
    held.reset(::fcntl(lock->descriptor(), F_DUPFD_CLOEXEC, 0));
    if (!held) return Error::from_errno(errno, "keep the lock of the state directory");
  } else {
    log::warning("{}", std::move(lock).error().with_context("lock the state directory").to_string());
  }
  // Commands that know the state directory only find a socket of another place through this note.
  if (auto noted = router::note_control_socket(state, control_socket); !noted) {
    log::warning("{}", std::move(noted).error().with_context("note where the control socket is").to_string());
  }
  return EdgeClaim(state, control_socket, std::move(held));
}

EdgeClaim EdgeClaim::adopt(fs::path state, fs::path control_socket, UniqueFd lock) {
  EdgeClaim claim(std::move(state), std::move(control_socket), std::move(lock));
  claim.owns_note_ = false;
  return claim;
}

EdgeClaim::EdgeClaim(fs::path state, fs::path control_socket, UniqueFd lock)
    : state_(std::move(state)), control_socket_(std::move(control_socket)), lock_(std::move(lock)) {}

EdgeClaim::~EdgeClaim() {
  if (state_.empty() || !owns_note_) return;
  // Without the lock another edge may have come after us: the note is taken away only if it is ours.
  if (lock_ || router::find_control_socket(state_, {}) == control_socket_)
    (void)router::forget_control_socket(state_);
}

}  // namespace hedge::proxy
