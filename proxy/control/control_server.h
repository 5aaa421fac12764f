// HTTP/1.1 on the control socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "proxy/control/control_api.h"
#include "proxy/control/control_socket.h"
#include "proxy/control/event_feed.h"

namespace boost::asio {
class io_context;
}

namespace hedge::proxy {

struct ControlLimits {
  std::uint64_t max_body_bytes = 1U << 20;
  std::uint32_t max_header_bytes = 16384;
  // From the first byte of a head to the last of the body; and for the answer.
  std::chrono::milliseconds request{10000};
  std::chrono::milliseconds idle{30000};  // between two requests of one connection
  std::size_t max_sessions = 64;          // further ones wait to be accepted
  std::size_t max_listeners = 16;         // of GET /v1/events; further ones are refused
  // A listener hears something at least so often, so that either side notices when the other is gone.
  std::chrono::milliseconds heartbeat{15000};
};

// Single-threaded, on the io_context's thread.
class ControlServer {
 public:
  // Lifetime: `actions` and `events` outlive the server.
  ControlServer(boost::asio::io_context& io, ControlSocket socket, ControlActions& actions, EventFeed& events,
                ControlLimits limits);
  // Requires: start() was never called, or shut_down() was and the io_context was run until it had nothing
  // left to do.
  ~ControlServer();

  void start();
  // The socket's file goes with this server from now on.
  void own_socket();
  // A handover that has not yet got to the new process's turn to serve ends as failed, soon.
  void cancel_handover();
  // Stops accepting and ends every connection.
  void shut_down();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hedge::proxy
