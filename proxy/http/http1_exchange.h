// One request of an HTTP/1 client and the response to it.
#pragma once

#include <optional>

#include "proxy/edge_worker.h"
#include "proxy/http/client_watch.h"
#include "proxy/http/exchange.h"
#include "proxy/http/http1_body.h"
#include "proxy/http/http1_writer.h"
#include "proxy/http/input_buffer.h"
#include "proxy/http/request_state.h"

namespace hedge::proxy::http {

struct Http1Connection {
  ByteStream& stream;
  InputBuffer& input;
  EdgeWorker& worker;
};

class Http1Exchange final : public Exchange {
 public:
  // Requires: `state.request` has been parsed and its head consumed from the input buffer.
  Http1Exchange(const Http1Connection& connection, RequestState& state);

  // The request could not be read to its end: answer it, then close.
  void close_afterwards() noexcept { close_ = true; }

  RequestHead& request() override { return state_.request; }
  BodySource& body() override { return body_; }
  const StreamIdentity& peer() const override { return connection_.stream.identity(); }
  Task<bool> send_interim(const ResponseHead& head) override;
  Task<bool> send_head(const ResponseHead& head, BodyChunk first,
                       const std::vector<Field>& trailers) override;
  Task<bool> send_body(BodyChunk chunk, const std::vector<Field>& trailers) override;
  ByteStream* raw_client() override;
  void begin_raw() override;
  void sent_raw(std::uint64_t bytes, bool last, IoResult sent) override;
  bool response_started() const override { return response_started_; }
  void abort() override;
  std::optional<ProxyError> check_upgrade(const ResponseHead& /*head*/) const override { return {}; }
  Task<UpgradedClient> upgrade(const ResponseHead& head) override;
  void drop_received() override { connection_.input.drop(); }
  void finish_early() override;
  void set_upstream(ByteStream* upstream) override { watch_.set_upstream(upstream); }
  bool client_gone() const override { return watch_.gone() || unreachable_; }
  void expect_continue() override { watch_.answer_expectation_later(); }

  // After the response: the connection may carry another request.
  bool reusable() const noexcept;
  // The response was sent and the client's side must be drained before the connection is closed.
  bool wants_linger() const noexcept {
    return response_complete_ && !upgraded_ && !unreachable_ && !watch_.gone();
  }
  // The connection must end with RST.
  bool wants_reset() const noexcept { return abort_hard_; }

 private:
  BodyShape client_shape(const ResponseHead& head) const;
  ConnectionHeader connection_header() const;
  Task<bool> send_pieces(BodyChunk chunk, const std::vector<Field>& trailers);

  const Http1Connection& connection_;
  RequestState& state_;
  Http1Body body_;
  ClientWatch watch_;
  BodyFramer framer_;
  bool close_ = false;
  bool response_started_ = false;
  bool response_complete_ = false;
  bool unreachable_ = false;
  bool upgraded_ = false;
  bool write_side_closed_ = false;
  bool abort_hard_ = false;
};

}  // namespace hedge::proxy::http
