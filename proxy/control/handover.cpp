#include "proxy/control/handover.h"

#include <utility>

#include <boost/asio/read_until.hpp>

#include "base/log.h"
#include "proxy/control/asio_await.h"
#include "proxy/process/handover_channel.h"
#include "proxy/process/handover_message.h"

namespace hedge::proxy {
namespace asio = boost::asio;

namespace {

constexpr std::size_t kLongestAnswer = 256;

}  // namespace

Handover::Handover(Stream& stream, ManagedEdge& edge, HandoverLimits limits)
    : stream_(stream), edge_(edge), limits_(limits), look_(stream.get_executor()) {}

Task<bool> Handover::run(ControlDescriptors control) {
  if (!send_items(control)) co_return false;
  const bool ready = co_await hear(kHandoverReady, limits_.prepare);
  if (!ready) co_return false;
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
  log::error("a takeover failed: the new process went away; this edge goes on");
  co_return false;
}

bool Handover::send_items(const ControlDescriptors& control) {
  const int socket = stream_.socket().native_handle();
  for (const OpenAddress& open : edge_.addresses()) {
    const HandedAddress handed{open.kind, open.address, open.asked, open.sockets.size()};
    if (!send_line(socket, encode(handed), open.sockets)) return false;
  }
  return send_line(socket, encode(HandedControl{control.path}), {control.listener, control.lock}) &&
         send(encode(HandoverComplete()));
}

bool Handover::send(std::string_view line) {
  return static_cast<bool>(send_line(stream_.socket().native_handle(), line));
}

Task<bool> Handover::hear(std::string_view expected, std::chrono::milliseconds limit) {
  stream_.expires_after(limit);
  auto [failure, length] = co_await await_asio<std::size_t>([this](auto done) {
    asio::async_read_until(stream_, asio::dynamic_buffer(received_, kLongestAnswer), '\n', std::move(done));
  });
  // Nothing is cancelled by a limit that belongs to an earlier wait.
  stream_.expires_never();
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
    look_.expires_after(std::chrono::milliseconds(1));
    co_await await_asio([this](auto done) { look_.async_wait(std::move(done)); });
  }
  co_return true;
}

}  // namespace hedge::proxy
