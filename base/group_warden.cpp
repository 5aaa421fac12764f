#include "base/group_warden.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

namespace hedge {
namespace {

constexpr pid_t kDismissed = -1;
constexpr time_t kGraceSeconds = 2;
constexpr long kLookNanoseconds = 20'000'000;
constexpr int kMostDescriptors = 65536;

// From here on only what may be called between fork and exec in a program with threads.

void close_all_but(int line, int kept) {
  const long limit = ::sysconf(_SC_OPEN_MAX);
  const int end = limit > 0 && limit < kMostDescriptors ? static_cast<int>(limit) : kMostDescriptors;
  for (int descriptor = 0; descriptor < end; ++descriptor) {
    if (descriptor != line && descriptor != kept) ::close(descriptor);
  }
}

void end_group(pid_t group) {
  ::kill(-group, SIGTERM);
  // By the clock: on a busy machine a look may take much longer than its pause.
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const timespec end{now.tv_sec + kGraceSeconds, now.tv_nsec};
  while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec)) {
    if (::kill(-group, 0) != 0 && errno == ESRCH) return;
    const timespec pause{0, kLookNanoseconds};
    ::nanosleep(&pause, nullptr);
    ::clock_gettime(CLOCK_MONOTONIC, &now);
  }
  ::kill(-group, SIGKILL);
}

[[noreturn]] void be_warden(int line, int kept) {
  // What is meant for the caller's group, or for its terminal, is not meant for this.
  ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_DFL);
  close_all_but(line, kept);
  pid_t group = 0;
  while (true) {
    pid_t told = 0;
    const ssize_t got = ::read(line, &told, sizeof told);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof told)) break;  // the caller is gone
    if (told == kDismissed) ::_exit(0);
    group = told;
  }
  if (group > 1) end_group(group);
  ::_exit(0);
}

}  // namespace

Result<GroupWarden> GroupWarden::start(int kept) {
  std::array<int, 2> ends{};
  // Of sockets, for a warden that was killed must be no signal for the one who writes.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return Error::from_errno(errno, "socketpair");
  const UniqueFd its(ends[0]);
  UniqueFd ours(ends[1]);
  const pid_t warden = ::fork();
  if (warden < 0) return Error::from_errno(errno, "fork");
  if (warden == 0) be_warden(its.get(), kept);
  return GroupWarden(warden, std::move(ours));
}

GroupWarden::GroupWarden(GroupWarden&& other) noexcept
    : warden_(std::exchange(other.warden_, 0)), line_(std::move(other.line_)) {}

GroupWarden::~GroupWarden() {
  if (warden_ == 0) return;
  (void)::send(line_.get(), &kDismissed, sizeof kDismissed, MSG_NOSIGNAL);
  while (::waitpid(warden_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// A few bytes into an empty buffer: they go as a whole.
void GroupWarden::watch(pid_t group) { (void)::send(line_.get(), &group, sizeof group, MSG_NOSIGNAL); }

}  // namespace hedge
