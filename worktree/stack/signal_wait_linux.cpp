#include "worktree/stack/signal_wait.h"

#include <ctime>

#include <signal.h>

namespace hedge::worktree {
namespace {

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

}  // namespace

void block_signals(std::initializer_list<int> numbers) {
  const sigset_t set = set_of(numbers);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

int wait_for_signal(std::initializer_list<int> numbers, std::chrono::milliseconds limit) {
  const sigset_t set = set_of(numbers);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds.count());
  time.tv_nsec = static_cast<long>(std::chrono::nanoseconds(limit - seconds).count());
  const int number = ::sigtimedwait(&set, nullptr, &time);
  return number > 0 ? number : 0;
}

}  // namespace hedge::worktree
