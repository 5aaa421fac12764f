#include "cli/interruption.h"

#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "contract/errors.h"

namespace hedge::cli {
namespace {

constexpr int kEndOfWatch = SIGUSR2;  // from the destructor to its own thread

}  // namespace

InterruptionWatch::InterruptionWatch(std::function<void(const Error&)> report) : report_(std::move(report)) {
  ::sigemptyset(&signals_);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, kEndOfWatch}) ::sigaddset(&signals_, number);
  ::pthread_sigmask(SIG_BLOCK, &signals_, &previous_);
  thread_ = std::thread([this] { wait_for_signal(); });
}

InterruptionWatch::~InterruptionWatch() {
  ::pthread_kill(thread_.native_handle(), kEndOfWatch);
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void InterruptionWatch::wait_for_signal() {
  int number = 0;
  while (::sigwait(&signals_, &number) != 0) {
  }
  if (number == kEndOfWatch) return;
  report_(Error(ErrorKind::cancelled, std::string("ended by signal ") + ::strsignal(number)).with_id("interrupted"));
  ::_exit(contract::to_int(contract::ExitCode::failed));
}

}  // namespace hedge::cli
