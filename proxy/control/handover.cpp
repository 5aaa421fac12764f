#include "proxy/control/handover.h"

#include <utility>
#include <vector>

#include <boost/asio/read_until.hpp>

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
  if (!send_items(control)) co_return false;
  const bool ready = co_await hear(kHandoverReady, limits_.prepare);
  if (!ready) co_return false;
  on_pause_();
  const bool paused = co_await pause_edge();
  if (paused && send(kHandoverGo)) {
    const bool serving = co_await hear(kHandoverServing, limits_.pause);
    if (serving) {
      static_cast<void>(send(kHandoverReleased));
      co_return true;
    }
  }
  static_cast<void>(send(kHandoverCancelled));
  edge_.resume_accepting();
  log::error("a takeover failed: the new process went away or hung; this edge goes on");
  co_return false;
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
  return send_line(socket, encode(HandedControl{control.path, has_claim}), descriptors) &&
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
  TaskGroup watch;
  timer_.expires_after(limit);
  watch.spawn(cancel_late());
  auto [failure, length] = co_await await_asio<std::size_t>([this](auto done) {
    asio::async_read_until(stream_, asio::dynamic_buffer(received_, kLongestAnswer), '\n', std::move(done));
  });
  timer_.cancel();
  co_await watch.join();
  if (failure) co_return false;
  const std::string line = received_.substr(0, length - 1);
  received_.erase(0, length);
  co_return line == expected;
}

Task<bool> Handover::pause_edge() {
  const auto until = std::chrono::steady_clock::now() + limits_.pause;
  edge_.pause_accepting();
  while (!edge_.has_paused()) {
    if (std::chrono::steady_clock::now() >= until) co_return false;
    timer_.expires_after(std::chrono::milliseconds(1));
    co_await await_asio([this](auto done) { timer_.async_wait(std::move(done)); });
  }
  co_return true;
}

}  // namespace hedge::proxy
