#include "proxy/http/client_watch.h"

#include <algorithm>

namespace hedge::proxy::http {

ClientWatch::ClientWatch(Reactor& reactor, ByteStream& client, Version version,
                         const ClientWatchLimits& limits)
    : client_(client), timer_(reactor, this, &on_time), limits_(limits), version_(version) {
  client_.watch_peer(this);
}

ClientWatch::~ClientWatch() {
  client_.watch_peer(nullptr);
}

void ClientWatch::set_upstream(ByteStream* upstream) noexcept {
  upstream_ = upstream;
  if (gone_ && upstream_ != nullptr) upstream_->cancel();
}

void ClientWatch::answer_expectation_later() {
  expectation_open_ = true;
  timer_.start(limits_.continue_after);
}

void ClientWatch::peer_finished() {
  if (finished_) return;
  finished_ = true;
  progress_ = false;
  timer_.start(limits_.look_after);
}

void ClientWatch::peer_gone() {
  gone_ = true;
  timer_.stop();
  if (upstream_ != nullptr) upstream_->cancel();
}

void ClientWatch::on_time(void* argument) {
  auto& self = *static_cast<ClientWatch*>(argument);
  if (!self.finished_) {
    const bool is_due = self.expectation_open_ && !self.interim_sent_ && !self.response_started_;
    if (is_due) self.send_continue();
    return;
  }
  if (self.response_started_) {
    self.look_after_response();
  } else {
    self.look_before_response();
  }
  if (!self.gone_) self.timer_.start(self.limits_.look_after);
}

// Nothing can be asked within a response. One that moves finds out by its writes; so does one that waits for
// the client to read, because the system of a client that is gone answers what is on its way with RST.
void ClientWatch::look_after_response() {
  const bool waits_for_client = client_.waiters().writer != nullptr;
  if (!progress_ && !waits_for_client) return peer_gone();
  progress_ = false;
}

void ClientWatch::look_before_response() {
  ++looks_;
  if (version_ == Version::http10) {
    // It would take an interim response for the final one.
    if (looks_ >= limits_.most_looks_unasked) peer_gone();
    return;
  }
  if (looks_ < next_ask_) return;
  next_ask_ = looks_ + std::min(looks_, limits_.most_looks_between);
  send_continue();
}

// 100 is the one interim status that even careless clients skip.
void ClientWatch::send_continue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  interim_sent_ = true;
  const IoResult sent = client_.try_write(kContinue, {});
  // A client that leaves no room for 25 bytes before any answer was sent does not read; a cut interim
  // response could not be repaired.
  if (!sent.ok() || sent.bytes != kContinue.size()) peer_gone();
}

}  // namespace hedge::proxy::http
