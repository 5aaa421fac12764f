#include "proxy/stream/socket_stream.h"

#include <array>
#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proxy/stream/pipe_pool.h"
#include "proxy/stream/socket_address.h"

namespace hedge::proxy {
namespace {

constexpr unsigned kSpliceFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;

void disable_nagle(int fd) noexcept {
  const int on = 1;
  // On a unix socket this fails, and means nothing.
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

SocketStream::SocketStream(Reactor& reactor, UniqueFd socket, bool writable)
    : reactor_(reactor), socket_(std::move(socket)), writable_(writable), waiters_(&reactor.deadlines()) {}

SocketStream::~SocketStream() {
  close();
}

Result<std::unique_ptr<SocketStream>> SocketStream::accepted(Reactor& reactor, UniqueFd socket) {
  std::unique_ptr<SocketStream> stream(new SocketStream(reactor, std::move(socket), true));
  disable_nagle(stream->socket_.get());
  stream->identify();
  if (Result<void> started = stream->start(); !started) return std::move(started).error();
  return stream;
}

ConnectStart SocketStream::connecting(Reactor& reactor, const sockaddr* address, socklen_t length) {
  UniqueFd socket(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {nullptr, errno};
  if (address->sa_family != AF_UNIX) disable_nagle(socket.get());
  // Registered after connect(): epoll reports an unconnected socket as hung up.
  const bool at_once = ::connect(socket.get(), address, length) == 0;
  if (!at_once && errno != EINPROGRESS) return {nullptr, errno};
  std::unique_ptr<SocketStream> stream(new SocketStream(reactor, std::move(socket), at_once));
  if (!stream->start()) return {nullptr, ENFILE};
  return {std::move(stream), 0};
}

void SocketStream::identify() {
  const SocketAddress peer = SocketAddress::of_peer(socket_.get());
  identity_.peer_ip = peer.ip;
  identity_.peer_port = peer.port;
  identity_.peer_is_loopback = peer.is_loopback;
  identity_.local_port = SocketAddress::of_local(socket_.get()).port;
}

Result<void> SocketStream::start() {
  return reactor_.add(socket_.get(), *this, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

IoResult SocketStream::try_read(std::span<char> into) {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  if (!readable_ || turn_is_used_up()) return IoResult::blocked();
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), 0);
    if (got > 0) {
      const auto bytes = static_cast<std::size_t>(got);
      turn_bytes_ += static_cast<std::uint32_t>(bytes);
      // Edge-triggered: whatever arrives after a short read raises a new event.
      if (bytes < into.size() && !peer_finished_) readable_ = false;
      return IoResult::moved(bytes);
    }
    if (got == 0) return IoResult::ended();
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return IoResult::failure(errno);
    readable_ = false;
    return IoResult::blocked();
  }
}

// Readiness is not forgotten: whoever waits is tried again in the next turn.
bool SocketStream::turn_is_used_up() {
  if (turn_ != reactor_.turn()) {
    turn_ = reactor_.turn();
    turn_bytes_ = 0;
  }
  if (turn_bytes_ < reactor_.turn_bytes()) return false;
  if (!std::exchange(waits_for_turn_, true)) wake_later();
  return true;
}

IoResult SocketStream::try_write(std::string_view first, std::string_view second) {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  if (!writable_) return IoResult::blocked();
  for (;;) {
    ssize_t sent;
    if (second.empty()) {
      sent = ::send(socket_.get(), first.data(), first.size(), MSG_NOSIGNAL);
    } else {
      std::array<iovec, 2> pieces = {iovec{const_cast<char*>(first.data()), first.size()},
                                     iovec{const_cast<char*>(second.data()), second.size()}};
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = pieces.size();
      sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    }
    if (sent >= 0) {
      const auto bytes = static_cast<std::size_t>(sent);
      // A short write has filled the socket's buffer; the kernel raises an event when there is room.
      if (bytes < first.size() + second.size()) writable_ = false;
      return IoResult::moved(bytes);
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return IoResult::failure(errno);
    writable_ = false;
    return IoResult::blocked();
  }
}

IoResult SocketStream::try_splice_read(Pipe& pipe, std::size_t most) {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  if (!readable_ || turn_is_used_up()) return IoResult::blocked();
  for (;;) {
    const ssize_t got = ::splice(socket_.get(), nullptr, pipe.write_end(), nullptr, most, kSpliceFlags);
    if (got > 0) {
      pipe.put(static_cast<std::size_t>(got));
      turn_bytes_ += static_cast<std::uint32_t>(got);
      // A short one may mean that the pipe's slots are used up, so it says nothing about the socket. After the
      // last bytes of a body the answer decides whether the connection may be used again.
      if (static_cast<std::size_t>(got) == most) (void)is_still_readable();
      return IoResult::moved(static_cast<std::size_t>(got));
    }
    if (got == 0) return IoResult::ended();
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return IoResult::failure(errno);
    // The pipe is empty, so it is the socket that has nothing.
    readable_ = false;
    return IoResult::blocked();
  }
}

bool SocketStream::is_still_readable() noexcept {
  char byte = 0;
  if (readable_ && ::recv(socket_.get(), &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN) readable_ = false;
  return readable_;
}

IoResult SocketStream::try_splice_write(Pipe& pipe) {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  if (!writable_) return IoResult::blocked();
  for (;;) {
    const ssize_t sent =
        ::splice(pipe.read_end(), nullptr, socket_.get(), nullptr, pipe.held(), kSpliceFlags);
    if (sent > 0) {
      pipe.took(static_cast<std::size_t>(sent));
      return IoResult::moved(static_cast<std::size_t>(sent));
    }
    if (errno == EINTR) continue;
    if (sent == 0 || errno != EAGAIN) return IoResult::failure(sent == 0 ? EIO : errno);
    writable_ = false;
    return IoResult::blocked();
  }
}

IoResult SocketStream::try_shutdown_write() {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  if (::shutdown(socket_.get(), SHUT_WR) != 0) return IoResult::failure(errno);
  return IoResult::moved(0);
}

void SocketStream::cancel() {
  if (!socket_) return;
  waiters_.mark_interrupted(IoStatus::cancelled);
  peer_finished_ = true;  // nobody will serve the peer any more, so whoever watches it is told
  peer_gone_ = true;
  wake_later();
}

void SocketStream::close() {
  if (!socket_) return;
  reactor_.remove(socket_.get(), *this);
  socket_.reset();
  waiters_.mark_interrupted(IoStatus::cancelled);
}

void SocketStream::reset() {
  if (!socket_) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

void SocketStream::watch_peer(PeerWatcher* watcher) {
  watcher_ = watcher;
  told_finished_ = false;
  told_gone_ = false;
  if (watcher != nullptr && peer_finished_ && socket_) wake_later();
}

int SocketStream::peek_first_byte() const noexcept {
  unsigned char byte = 0;
  const ssize_t got = ::recv(socket_.get(), &byte, 1, MSG_PEEK);
  return got == 1 ? byte : -1;
}

void SocketStream::on_events(std::uint32_t events) {
  if (events == 0) waits_for_turn_ = false;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) readable_ = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) writable_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) peer_finished_ = true;
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) peer_gone_ = true;
  if (watcher_ != nullptr && peer_finished_) tell_watcher();
  woken_->wake();  // may destroy this
}

void SocketStream::tell_watcher() noexcept {
  if (!std::exchange(told_finished_, true)) watcher_->peer_finished();
  if (watcher_ != nullptr && peer_gone_ && !std::exchange(told_gone_, true)) watcher_->peer_gone();
}

IoResult SocketStream::connect_result() const noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0)
    return IoResult::failure(errno);
  if (error == 0 && is_connected_to_itself(socket_.get())) error = ECONNREFUSED;
  return error == 0 ? IoResult::moved(0) : IoResult::failure(error);
}

bool ConnectAwaiter::attempt_connect(PendingIo& pending) {
  auto& self = static_cast<ConnectAwaiter&>(pending);
  const IoStatus interrupted = self.stream_.waiters_.interrupted();
  if (interrupted != IoStatus::ok) {
    self.result_ = IoResult::interrupted(interrupted);
    return true;
  }
  if (!self.stream_.writable_) return false;
  self.result_ = self.stream_.connect_result();
  return true;
}

}  // namespace hedge::proxy
