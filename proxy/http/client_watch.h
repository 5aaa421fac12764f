// Notices that a client has gone away while the edge waits for the upstream.
//
// A FIN alone does not say so: a client may end its side after the request and still wait for the answer. So
// the edge asks: an interim response, which every HTTP/1.1 client skips, is answered with RST by the system
// of a client that is gone. It goes on asking, ever more rarely, because a client may also leave later. An
// HTTP/1.0 client cannot be asked and is waited for so long only. Within a response nobody can be asked: one
// that stands still because the upstream is silent is given up.
#pragma once

#include <chrono>
#include <cstdint>

#include "proxy/http/message.h"
#include "proxy/stream/byte_stream.h"
#include "proxy/stream/reactor.h"

namespace hedge::proxy::http {

// Defaults are the product's; tests shorten them.
struct ClientWatchLimits {
  // How often a half-closed client is looked after, and when it is asked first; with the RST's way back the
  // upstream of one that is gone is cancelled within 1 s.
  std::chrono::milliseconds look_after{500};
  // Asked after 1, 2, 4, … looks, and at least after so many.
  std::uint32_t most_looks_between{60};
  // A half-closed HTTP/1.0 client is taken to be gone when so many looks have seen no answer: 5 min.
  std::uint32_t most_looks_unasked{600};
  // How long the upstream may take to answer `Expect: 100-continue` before the edge does it.
  std::chrono::milliseconds continue_after{1000};
};
inline constexpr ClientWatchLimits kClientWatchLimits{};

// Lives for one exchange. On the worker's thread only.
class ClientWatch final : public PeerWatcher {
 public:
  // Lifetime: `limits` outlives the watch.
  ClientWatch(Reactor& reactor, ByteStream& client, Version version,
              const ClientWatchLimits& limits = kClientWatchLimits);
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
  void look_after_response();
  void look_before_response();
  void send_continue();

  ByteStream& client_;
  ByteStream* upstream_ = nullptr;
  Timer timer_;
  const ClientWatchLimits& limits_;
  std::uint32_t looks_ = 0;  // since the client's FIN
  std::uint32_t next_ask_ = 1;
  Version version_;
  bool finished_ = false;
  bool gone_ = false;
  bool interim_sent_ = false;
  bool expectation_open_ = false;
  bool response_started_ = false;
  bool progress_ = false;  // since the timer was started
};

}  // namespace hedge::proxy::http
