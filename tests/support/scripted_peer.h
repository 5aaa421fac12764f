// A TCP server whose connections run a script of plain blocking calls, and a client of the same kind. For
// byte-exact tests of a proxy: what was received is kept, and every wait has a limit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"

namespace hedge::test {

inline constexpr std::chrono::milliseconds kPeerLimit{10'000};

// One connection, blocking. A call that reaches the limit or fails returns what there is; tests look at the
// bytes.
class PeerConnection {
 public:
  // Without Nagle's delay: what is sent leaves at once.
  explicit PeerConnection(UniqueFd socket);
  // Requires: something listens on 127.0.0.1:port.
  static PeerConnection to(std::uint16_t port);

  // All bytes; false if the peer is gone.
  bool send(std::string_view bytes);
  // Each byte in a segment of its own, as far as the kernel allows.
  bool send_slowly(std::string_view bytes);
  // Up to and with the next empty line. Bytes behind it are kept for the next call.
  std::string read_head(std::chrono::milliseconds limit = kPeerLimit);
  std::string read_bytes(std::size_t count, std::chrono::milliseconds limit = kPeerLimit);
  // Up to and with `end`.
  std::string read_until(std::string_view end, std::chrono::milliseconds limit = kPeerLimit);
  // Until the peer's FIN or RST.
  std::string read_all(std::chrono::milliseconds limit = kPeerLimit);
  // True: the peer has ended the connection within the limit. Bytes that come before are dropped.
  bool wait_for_end(std::chrono::milliseconds limit = kPeerLimit);

  // After an end: it came by RST and not by FIN.
  bool was_reset() const { return was_reset_; }

  void fin();
  void rst();
  void close() { socket_.reset(); }
  bool is_open() const { return static_cast<bool>(socket_); }

  // Called with everything that is received.
  std::function<void(std::string_view)> on_received;

 private:
  enum class Wait { bytes, end, late };
  Wait receive_some(std::chrono::steady_clock::time_point until);

  UniqueFd socket_;
  std::string unread_;
  bool was_reset_ = false;
};

// Listens on a loopback address and runs the script on every connection, each in a thread of its own.
class ScriptedUpstream {
 public:
  // `number`: how many connections came before.
  using Script = std::function<void(PeerConnection& connection, int number)>;

  // `ip`: of the loopback network. `port` 0: one that the system chooses.
  explicit ScriptedUpstream(Script script, const std::string& ip = "127.0.0.1", std::uint16_t port = 0);
  // Ends all scripts by closing their connections.
  ~ScriptedUpstream();
  ScriptedUpstream(const ScriptedUpstream&) = delete;
  ScriptedUpstream& operator=(const ScriptedUpstream&) = delete;

  std::uint16_t port() const { return port_; }
  // "tcp:127.0.0.1:PORT"
  std::string route() const { return "tcp:127.0.0.1:" + std::to_string(port_); }
  int accepted() const;
  // All bytes that all connections have received.
  std::string received() const;
  // How often `text` was received.
  int count(std::string_view text) const;
  // False: it did not come true within the limit. It is asked whenever something was received or accepted.
  bool wait_until(const std::function<bool(const std::string& received, int accepted)>& true_of,
                  std::chrono::milliseconds limit = kPeerLimit);

 private:
  void accept_loop();
  void run(UniqueFd socket, int number);

  Script script_;
  UniqueFd listener_;
  UniqueFd stop_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string received_;
  int accepted_ = 0;
  std::list<std::thread> threads_;
  std::list<int> sockets_;
  bool stopping_ = false;
  std::thread acceptor_;
};

// Answers every request with `response`, on connections that stay open. Requests have no body.
ScriptedUpstream::Script answer_always(std::string response);

// "HTTP/1.1 200 OK" with a length and the body.
std::string ok_response(std::string_view body);

}  // namespace hedge::test
