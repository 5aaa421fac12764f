// Accepts connections of one listening socket on one worker.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/unique_fd.h"
#include "proxy/downstream_connection.h"
#include "proxy/stream/reactor.h"

namespace hedge::proxy {

class EdgeWorker;

struct ListeningSocket {
  UniqueFd fd;
  ListenerKind kind = ListenerKind::plain;
  std::uint32_t address = 0;  // the server's number of the address; several sockets may have the same
};

class Listener final : public EventSource {
 public:
  // Lifetime: `worker` outlives the listener.
  Listener(EdgeWorker& worker, ListeningSocket socket);
  ~Listener() override;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  Result<void> start();
  // Leaves clients in the queue until start() is called again.
  void pause();
  // The address that this socket is one of.
  std::uint32_t address() const noexcept { return address_; }
  // Accepts every connection that waits in the queue, so that closing the listener loses none of them.
  void accept_waiting();

 private:
  void on_events(std::uint32_t events) override;
  void accept_some(int most);
  void back_off(int error);
  static void resume(void* self);

  EdgeWorker& worker_;
  UniqueFd socket_;
  ListenerKind kind_;
  std::uint32_t address_;
  Timer back_off_;
  std::chrono::steady_clock::time_point last_complaint_;
};

}  // namespace hedge::proxy
