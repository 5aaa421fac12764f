#include "proxy/http/client_watch.h"

namespace hedge::proxy::http {

ClientWatch::ClientWatch(Reactor& reactor, ByteStream& client, Version version)
    : client_(client), timer_(reactor, this, &on_time), version_(version) {
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
  timer_.start(kContinueAfter);
}

void ClientWatch::peer_finished() {
  if (finished_) return;
  finished_ = true;
  progress_ = false;
  timer_.start(kAskAfter);
}

void ClientWatch::peer_gone() {
  gone_ = true;
  timer_.stop();
  if (upstream_ != nullptr) upstream_->cancel();
}

void ClientWatch::on_time(void* self) {
  static_cast<ClientWatch*>(self)->ask();
}

void ClientWatch::ask() {
  if (!finished_) {
    if (expectation_open_ && !interim_sent_ && !response_started_) send_continue();
    return;
  }
  if (response_started_) {
    // Nothing can be asked within a response. One that stands still after the client's FIN is given up; one
    // that moves finds out by its writes.
    if (!progress_) return peer_gone();
    progress_ = false;
    timer_.start(kAskAfter);
    return;
  }
  // An HTTP/1.0 client would take an interim response for the final one.
  if (version_ == Version::http11 && !asked_) {
    asked_ = true;
    send_continue();
  }
  if (!gone_) timer_.start(kAskAfter);
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
