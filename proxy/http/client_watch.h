// Notices that a client has gone away while the edge waits for the upstream.
//
// A FIN alone does not say so: a client may end its side after the request and still wait for the answer. So
// the edge asks: an interim response, which every HTTP/1.1 client skips, is answered with RST by the system
// of a client that is gone.
#pragma once

#include <chrono>

#include "proxy/http/message.h"
#include "proxy/stream/byte_stream.h"
#include "proxy/stream/reactor.h"

namespace hedge::proxy::http {

// Lives for one exchange. On the worker's thread only.
class ClientWatch final : public PeerWatcher {
 public:
  // Until the edge asks a silent half-closed client; with the RST's way back the upstream is cancelled within
  // 1 s.
  static constexpr std::chrono::milliseconds kAskAfter{500};
  // How long the upstream may take to answer `Expect: 100-continue` before the edge does it.
  static constexpr std::chrono::milliseconds kContinueAfter{1000};

  ClientWatch(Reactor& reactor, ByteStream& client, Version version);
  ~ClientWatch() override;

  // The stream that is cancelled once the client is gone; null: none at the moment.
  void set_upstream(ByteStream* upstream) noexcept;
  bool gone() const noexcept { return gone_; }

  // The client withholds its body until it is told to go on; if nobody does in time, the edge does.
  void answer_expectation_later();
  // Before each write: no interim response of ours may follow the final head.
  void sending() noexcept {
    response_started_ = true;
    progress_ = true;
  }
  void sending_interim() noexcept { interim_sent_ = true; }

  void peer_finished() override;
  void peer_gone() override;

 private:
  static void on_time(void* self);
  void ask();
  void send_continue();

  ByteStream& client_;
  ByteStream* upstream_ = nullptr;
  Timer timer_;
  Version version_;
  bool finished_ = false;
  bool gone_ = false;
  bool asked_ = false;
  bool interim_sent_ = false;
  bool expectation_open_ = false;
  bool response_started_ = false;
  bool progress_ = false;  // since the timer was started
};

}  // namespace hedge::proxy::http
