#include "cli/signal_watch.h"

#include <pthread.h>

namespace hedge::cli {
namespace {

constexpr int kEndOfWatch = SIGUSR2;  // from the destructor to its own thread

}  // namespace

SignalWatch::SignalWatch(const std::vector<int>& signals, std::function<void(int)> on_signal)
    : on_signal_(std::move(on_signal)) {
  ::sigemptyset(&signals_);
  for (const int number : signals) ::sigaddset(&signals_, number);
  ::sigaddset(&signals_, kEndOfWatch);
  ::pthread_sigmask(SIG_BLOCK, &signals_, &previous_);
  thread_ = std::thread([this] { serve(); });
}

SignalWatch::~SignalWatch() {
  ::pthread_kill(thread_.native_handle(), kEndOfWatch);
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void SignalWatch::serve() {
  while (true) {
    int number = 0;
    if (::sigwait(&signals_, &number) != 0) continue;
    if (number == kEndOfWatch) return;
    on_signal_(number);
  }
}

}  // namespace hedge::cli
