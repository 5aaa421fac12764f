#include "tests/support/scripted_peer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace hedge::test {
namespace {

sockaddr_in loopback(std::uint16_t port, const char* ip = "127.0.0.1") {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, ip, &address.sin_addr);
  return address;
}

}  // namespace

PeerConnection::PeerConnection(UniqueFd socket) : socket_(std::move(socket)) {
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

PeerConnection PeerConnection::to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    ADD_FAILURE() << "connect to port " << port << ": errno " << errno;
  return PeerConnection(std::move(socket));
}

bool PeerConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool PeerConnection::send_slowly(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [this](const char& byte) { return send({&byte, 1}); });
}

PeerConnection::Wait PeerConnection::receive_some(std::chrono::steady_clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  pollfd wait{socket_.get(), POLLIN, 0};
  if (left.count() < 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) return Wait::late;
  std::array<char, 65536> bytes;
  const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) was_reset_ = errno == ECONNRESET;
  if (got <= 0) return Wait::end;
  const std::string_view received(bytes.data(), static_cast<std::size_t>(got));
  unread_.append(received);
  if (on_received) on_received(received);
  return Wait::bytes;
}

std::string PeerConnection::read_until(std::string_view end, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  std::size_t found = 0;
  while ((found = unread_.find(end)) == std::string::npos) {
    if (receive_some(until) != Wait::bytes) return std::exchange(unread_, {});
  }
  std::string text = unread_.substr(0, found + end.size());
  unread_.erase(0, text.size());
  return text;
}

std::string PeerConnection::read_head(std::chrono::milliseconds limit) {
  return read_until("\r\n\r\n", limit);
}

std::string PeerConnection::read_bytes(std::size_t count, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (unread_.size() < count && receive_some(until) == Wait::bytes) {
  }
  std::string text = unread_.substr(0, count);
  unread_.erase(0, text.size());
  return text;
}

std::string PeerConnection::read_all(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (receive_some(until) == Wait::bytes) {
  }
  return std::exchange(unread_, {});
}

bool PeerConnection::wait_for_end(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const Wait waited = receive_some(until);
    unread_.clear();
    if (waited != Wait::bytes) return waited == Wait::end;
  }
}

void PeerConnection::fin() {
  ::shutdown(socket_.get(), SHUT_WR);
}

void PeerConnection::rst() {
  const linger at_once{1, 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket_.reset();
}

ScriptedUpstream::ScriptedUpstream(Script script, const std::string& ip, std::uint16_t port)
    : script_(std::move(script)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  const int on = 1;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = loopback(port, ip.c_str());
  socklen_t length = sizeof address;
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener_.get(), 1024) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    ADD_FAILURE() << "listen: errno " << errno;
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_loop(); });
}

ScriptedUpstream::~ScriptedUpstream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  const std::uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) ADD_FAILURE() << "eventfd: errno " << errno;
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
}

void ScriptedUpstream::accept_loop() {
  for (;;) {
    std::array<pollfd, 2> waits = {pollfd{listener_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    ::poll(waits.data(), waits.size(), -1);
    if (waits[1].revents != 0) return;
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) continue;
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    sockets_.push_back(socket.get());
    threads_.emplace_back([this, number = accepted_](UniqueFd accepted) { run(std::move(accepted), number); },
                          std::move(socket));
    ++accepted_;
    changed_.notify_all();
  }
}

void ScriptedUpstream::run(UniqueFd socket, int number) {
  const int raw = socket.get();
  PeerConnection connection(std::move(socket));
  connection.on_received = [this](std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    received_.append(bytes);
    changed_.notify_all();
  };
  script_(connection, number);
  const std::lock_guard lock(mutex_);
  sockets_.remove(raw);
  connection.close();
}

int ScriptedUpstream::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

std::string ScriptedUpstream::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

int ScriptedUpstream::count(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  int found = 0;
  for (std::size_t at = received_.find(text); at != std::string::npos;
       at = received_.find(text, at + text.size()))
    ++found;
  return found;
}

bool ScriptedUpstream::wait_until(const std::function<bool(const std::string&, int)>& true_of,
                                  std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return true_of(received_, accepted_); });
}

ScriptedUpstream::Script answer_always(std::string response) {
  return [response = std::move(response)](PeerConnection& connection, int /*number*/) {
    while (connection.read_head().ends_with("\r\n\r\n") && connection.send(response)) {
    }
  };
}

std::string ok_response(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace hedge::test
