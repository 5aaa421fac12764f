// The running edge's side of a takeover.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>

#include "base/task.h"
#include "proxy/control/managed_edge.h"

namespace hedge::proxy {

// How long the new process may take.
struct HandoverLimits {
  std::chrono::milliseconds prepare{60'000};
  // While nobody accepts: what the new process does then takes microseconds.
  std::chrono::milliseconds pause{5'000};
};

// On the control thread. One at a time.
class Handover {
 public:
  using Stream = boost::beast::basic_stream<boost::asio::local::stream_protocol>;
  struct ControlDescriptors {
    std::filesystem::path path;
    std::filesystem::path state;
    int listener = -1;
    int lock = -1;   // of the control socket
    int claim = -1;  // of the state directory; -1: there is none
  };

  // `on_pause`: called when the new process is ready, just before clients are made to wait. Lifetime: both
  // outlive the handover.
  Handover(Stream& stream, ManagedEdge& edge, std::function<void()> on_pause, HandoverLimits limits = {});

  // Sends copies of everything that listens, and waits until the new process serves. True: it does, and this
  // edge accepts nobody any more; release() follows. False: it failed or went away, and this edge accepts as
  // before.
  Task<bool> run(const ControlDescriptors& control);
  // The new process is the edge now. `reload`: it is to read its settings file again.
  void release(bool reload);
  // Ends run() soon, as failed, unless the new process was already told to serve. From the control thread.
  void cancel();

 private:
  // Up to the point from which the new process serves. False: it does not.
  Task<bool> negotiate(const ControlDescriptors& control);
  bool send_items(const ControlDescriptors& control);
  bool send(std::string_view line);
  // The next line is `expected`.
  Task<bool> hear(std::string_view expected, std::chrono::milliseconds limit);
  Task<void> cancel_late();
  // What has arrived although nobody waited for it any more.
  void receive_rest();
  Task<bool> pause_edge();

  Stream& stream_;
  ManagedEdge& edge_;
  HandoverLimits limits_;
  std::function<void()> on_pause_;
  boost::asio::steady_timer timer_;
  std::string received_;
  bool is_cancelled_ = false;
  bool has_paused_ = false;
  bool has_said_go_ = false;
};

}  // namespace hedge::proxy
