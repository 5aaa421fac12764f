#include "proxy/listener.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>

#include "base/log.h"
#include "proxy/edge_worker.h"

namespace hedge::proxy {
namespace {

// So many in one turn, so that the open connections get theirs.
constexpr int kMostAccepts = 64;
// More than a queue ever holds (net.core.somaxconn is 4096): clients that keep coming don't keep a drain from
// beginning.
constexpr int kMostWaiting = 8192;
// Without descriptors the listener rests; the kernel keeps the clients in its queue.
constexpr std::chrono::milliseconds kBackOff{100};
constexpr std::chrono::seconds kComplaintInterval{10};

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// The next one may be well.
bool is_of_one_client(int error) {
  return error == ECONNABORTED || error == EINTR || error == EPROTO;
}

}  // namespace

Listener::Listener(EdgeWorker& worker, ListeningSocket socket)
    : worker_(worker),
      socket_(std::move(socket.fd)),
      kind_(socket.kind),
      address_(socket.address),
      back_off_(worker.reactor(), this, &resume) {}

Listener::~Listener() {
  worker_.reactor().remove(socket_.get(), *this);
}

Result<void> Listener::start() {
  return worker_.reactor().add(socket_.get(), *this, EPOLLIN);
}

void Listener::pause() {
  back_off_.stop();
  worker_.reactor().remove(socket_.get(), *this);
}

void Listener::on_events(std::uint32_t /*events*/) {
  accept_some(kMostAccepts);
}

void Listener::accept_waiting() {
  // Also above the limit of connections: whoever is left in the queue is reset.
  for (int i = 0; i < kMostWaiting; ++i) {
    UniqueFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client) {
      worker_.take(std::move(client), kind_);
    } else if (!is_of_one_client(errno)) {
      if (is_shortage(errno)) back_off(errno);
      return;
    }
  }
}

void Listener::accept_some(int most) {
  for (int i = 0; i < most; ++i) {
    if (worker_.is_full()) return back_off(EMFILE);
    UniqueFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client) {
      worker_.take(std::move(client), kind_);
      continue;
    }
    if (is_shortage(errno)) back_off(errno);
    if (is_of_one_client(errno)) continue;
    return;
  }
}

void Listener::back_off(int error) {
  worker_.mutable_stats().accept_back_offs.add();
  worker_.reactor().modify(socket_.get(), *this, 0);
  back_off_.start(kBackOff);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_complaint_ < kComplaintInterval) return;
  last_complaint_ = now;
  log::warning("cannot accept connections for now: {}; raise the limit of open files (ulimit -n)",
               Error::from_errno(error, "accept").text());
}

void Listener::resume(void* self) {
  auto& listener = *static_cast<Listener*>(self);
  listener.worker_.reactor().modify(listener.socket_.get(), listener, EPOLLIN);
}

}  // namespace hedge::proxy
