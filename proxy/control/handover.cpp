#include "proxy/control/handover.h"

#include <array>
#include <utility>
#include <vector>

#include <boost/asio/read_until.hpp>
#include <sys/socket.h>

#include "base/log.h"
#include "base/task_group.h"
#include "proxy/control/asio_await.h"
#include "proxy/process/handover_channel.h"
#include "proxy/process/handover_message.h"

namespace hedge::proxy {
namespace asio = boost::asio;

namespace {

constexpr std::size_t kLongestAnswer = 256;

}  // namespace

Handover::Handover(Stream& stream, ManagedEdge& edge, std::function<void()> on_pause, HandoverLimits limits)
    : stream_(stream),
      edge_(edge),
      limits_(limits),
      on_pause_(std::move(on_pause)),
      timer_(stream.get_executor()) {}

Task<bool> Handover::run(const ControlDescriptors& control) {
  // The stream's own limit would close it, and whoever is late is to be told.
  stream_.expires_never();
  const bool serves = co_await negotiate(control);
  if (serves) co_return true;
  // Always said: a new process that hears nothing takes this one for dead, and serves.
  static_cast<void>(send(kHandoverCancelled));
  if (has_paused_) edge_.resume_accepting();
  log::error("a takeover failed: the new process went away or hung; this edge goes on");
  co_return false;
}

Task<bool> Handover::negotiate(const ControlDescriptors& control) {
  if (is_cancelled_ || !send_items(control)) co_return false;
  const bool ready = co_await hear(kHandoverReady, limits_.prepare);
  if (!ready) co_return false;
  on_pause_();
  const bool paused = co_await pause_edge();
  if (!paused || !send(kHandoverGo)) co_return false;
  has_said_go_ = true;
  co_return co_await hear(kHandoverServing, limits_.pause);
}

void Handover::release(bool reload) {
  static_cast<void>(send(reload ? kHandoverReleasedToReload : kHandoverReleased));
}

void Handover::cancel() {
  if (has_said_go_) return;
  is_cancelled_ = true;
  stream_.cancel();
}

bool Handover::send_items(const ControlDescriptors& control) {
  const int socket = stream_.socket().native_handle();
  for (const OpenAddress& open : edge_.addresses()) {
    const HandedAddress handed{open.kind, open.address, open.asked, open.sockets.size()};
    if (!send_line(socket, encode(handed), open.sockets)) return false;
  }
  const bool has_claim = control.claim >= 0;
  std::vector<int> descriptors = {control.listener, control.lock};
  if (has_claim) descriptors.push_back(control.claim);
  return send_line(socket, encode(HandedControl{control.path, control.state, has_claim}), descriptors) &&
         send(encode(HandoverComplete()));
}

bool Handover::send(std::string_view line) {
  return static_cast<bool>(send_line(stream_.socket().native_handle(), line));
}

Task<void> Handover::cancel_late() {
  auto [failure] = co_await await_asio([this](auto done) { timer_.async_wait(std::move(done)); });
  if (!failure) stream_.cancel();
}

Task<bool> Handover::hear(std::string_view expected, std::chrono::milliseconds limit) {
  if (is_cancelled_) co_return false;
  TaskGroup watch;
  timer_.expires_after(limit);
  watch.spawn(cancel_late());
  auto [failure, length] = co_await await_asio<std::size_t>([this](auto done) {
    asio::async_read_until(stream_, asio::dynamic_buffer(received_, kLongestAnswer), '\n', std::move(done));
  });
  timer_.cancel();
  co_await watch.join();
  // Where this process was the one that hung, the word is here and only the timer was faster. The other
  // process counts on it that a word once sent is heard.
  if (failure) receive_rest();
  const std::size_t end = received_.find('\n');
  if (end == std::string::npos || is_cancelled_) co_return false;
  const std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  co_return line == expected;
}

void Handover::receive_rest() {
  std::array<char, kLongestAnswer> block{};
  const ssize_t got = ::recv(stream_.socket().native_handle(), block.data(), block.size(), MSG_DONTWAIT);
  if (got > 0) received_.append(block.data(), static_cast<std::size_t>(got));
}

Task<bool> Handover::pause_edge() {
  const auto until = std::chrono::steady_clock::now() + limits_.pause;
  has_paused_ = true;
  edge_.pause_accepting();
  while (!edge_.has_paused()) {
    if (is_cancelled_ || std::chrono::steady_clock::now() >= until) co_return false;
    timer_.expires_after(std::chrono::milliseconds(1));
    co_await await_asio([this](auto done) { timer_.async_wait(std::move(done)); });
  }
  co_return true;
}

}  // namespace hedge::proxy
