// One request of an HTTP/2 client and the response to it: one stream, from its HEADERS to its end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/http/exchange.h"
#include "proxy/http/request_state.h"
#include "proxy/http2/http2_body.h"
#include "proxy/http2/http2_head.h"
#include "proxy/http2/http2_stream.h"
#include "proxy/stream/reactor.h"

namespace hedge::proxy::http {

class Http2Exchange final : public Exchange, private Http2HeadEvents, private PeerWatcher {
 public:
  // From the same free lists as coroutine frames: one is made for each request.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* exchange, std::size_t bytes) noexcept;

  // Lifetime: `connection` outlives the exchange.
  Http2Exchange(Http2Connection& connection, std::int32_t id, RequestStates::Lease state);
  ~Http2Exchange() override;

  Http2Stream& stream() noexcept { return stream_; }
  RequestState& state() noexcept { return *state_; }
  bool head_complete() const noexcept { return head_complete_; }
  // After the head: the request breaks the protocol itself and gets no answer but a stream error.
  bool is_malformed() const noexcept { return malformed_; }
  // After the head: what else is wrong with it. Absent: nothing.
  std::optional<ProxyError> take_head_error() { return std::move(head_error_); }
  // After the response, or instead of one: whatever is still open of the stream ends.
  void finish();

  RequestHead& request() override { return state_->request; }
  BodySource& body() override { return body_; }
  const StreamIdentity& peer() const override { return stream_.identity(); }
  Task<bool> send_interim(const ResponseHead& head) override;
  Task<bool> send_head(const ResponseHead& head, BodyChunk first,
                       const std::vector<Field>& trailers) override;
  Task<bool> send_body(BodyChunk chunk, const std::vector<Field>& trailers) override;
  bool response_started() const override { return response_started_; }
  void abort() override;
  void finish_early() override;
  std::optional<ProxyError> check_upgrade(const ResponseHead& head) const override;
  Task<UpgradedClient> upgrade(const ResponseHead& head) override;
  void set_upstream(ByteStream* upstream) override;
  bool client_gone() const override { return unreachable_ || stream_.is_broken(); }
  void expect_continue() override;

 private:
  void head_began() override;
  void field_received(std::string_view name, std::string_view value) override { block_->add(name, value); }
  void bad_field_received() override { block_->add_bad_field(); }
  void head_received(bool last) override;
  void peer_gone() override;
  void peer_finished() override {}

  void finish_head(bool last);
  void prepare_websocket();
  Task<bool> send_pieces(BodyChunk chunk, const std::vector<Field>& trailers);
  bool sent(const IoResult& result);
  static void continue_is_due(void* self);

  Http2Connection& connection_;
  RequestStates::Lease state_;
  std::optional<Http2FieldCollector> block_;  // the one that is being received
  std::vector<Field> trailers_;
  Http2Stream stream_;
  Http2Body body_;
  Timer continue_timer_;
  ByteStream* upstream_ = nullptr;
  std::string websocket_key_;  // sent upstream in the client's place; empty unless it opens a WebSocket
  std::optional<ProxyError> head_error_;
  bool head_complete_ = false;
  bool malformed_ = false;
  bool interim_sent_ = false;
  bool response_started_ = false;
  bool response_complete_ = false;
  bool unreachable_ = false;
};

}  // namespace hedge::proxy::http
