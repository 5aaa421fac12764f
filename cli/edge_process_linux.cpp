// What Linux alone offers about processes: a descriptor that names one without doubt.
#include <cerrno>
#include <system_error>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "cli/edge_process.h"

namespace hedge::cli {
namespace {

int open_pid_descriptor(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}
int send_signal(int descriptor, int number) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, descriptor, number, nullptr, 0));
}

}  // namespace

Result<void> end_process(pid_t pid, std::chrono::milliseconds limit) {
  const UniqueFd process(open_pid_descriptor(pid));
  if (!process && errno == ESRCH) return {};
  if (!process) return Error::from_errno(errno, "look at process " + std::to_string(pid));
  if (send_signal(process.get(), SIGTERM) != 0) {
    if (errno == ESRCH) return {};
    return Error::from_errno(errno, "end process " + std::to_string(pid));
  }
  // Readable when it has ended, also while its parent has not yet asked how.
  pollfd ended{process.get(), POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = ::poll(&ended, 1, static_cast<int>(std::max<long>(0, left.count())));
    if (ready > 0) return {};
    if (ready < 0 && errno == EINTR) continue;
    return Error(ErrorKind::timed_out, "process " + std::to_string(pid) + " did not end within " +
                                           std::to_string(limit.count()) + " ms")
        .with_id("edge_unresponsive");
  }
}

Result<std::filesystem::path> own_program() {
  std::error_code failure;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return Error::from_errno(failure.value(), "find this program");
  return path;
}

}  // namespace hedge::cli
