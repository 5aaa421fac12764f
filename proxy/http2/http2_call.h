// One request to an HTTP/2 upstream and its response: one stream of a connection that others use, too.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "proxy/http/request_state.h"
#include "proxy/http/upstream_call.h"
#include "proxy/http2/http2_body.h"
#include "proxy/http2/http2_head.h"
#include "proxy/http2/http2_stream.h"
#include "proxy/upstream/upstream_pools.h"

namespace hedge::proxy::http {

class Http2ClientConnection;

class Http2Call final : public UpstreamCall, private Http2HeadEvents {
 public:
  // Lifetime: both outlive the call.
  Http2Call(Http2ClientConnection& connection, RequestState& state, LeaseTimings timings);
  ~Http2Call() override;

  const ResolvedUpstream& upstream() const noexcept;
  const LeaseTimings& timings() const noexcept { return timings_; }
  // The connection has carried a call before: a failure before the first response byte may be its age.
  bool reused() const noexcept { return reused_; }

  Task<IoResult> send_head(const RequestHead& head, ConnectionHeader connection, BodyChunk first,
                           const std::vector<Field>& trailers) override;
  Task<IoResult> send_body(BodyChunk chunk, const std::vector<Field>& trailers) override;
  Task<std::optional<ProxyError>> read_head(bool head_request, ResponseHead& out) override;
  BodySource& body() override { return body_; }
  bool response_started() const override { return response_started_; }
  bool was_refused() const override;
  ByteStream& stream() override { return stream_; }
  std::string_view leftover() const override { return {}; }
  // The connection looks after itself.
  bool reusable(const ResponseHead& /*response*/) const override { return false; }

 private:
  // A head that nobody has asked for yet.
  struct ReceivedHead {
    ResponseHead head;
    std::optional<ProxyError> error;
    bool last = false;
  };

  void head_began() override;
  void field_received(std::string_view name, std::string_view value) override {
    if (!given_up_) block_->add(name, value);
  }
  void bad_field_received() override {
    if (!given_up_) block_->add_bad_field();
  }
  void head_received(bool last) override;

  void trailers_received();
  std::optional<ProxyError> check_head(bool last);
  Task<IoResult> send_pieces(BodyChunk chunk, const std::vector<Field>& trailers);
  ProxyError closed() const;

  RequestState& state_;
  LeaseTimings timings_;
  Http2ClientConnection& connection_;
  std::optional<Http2FieldCollector> block_;  // the one that is being received
  ReceivedHead arriving_;                     // the head that `block_` is part of
  std::vector<ReceivedHead> heads_;
  std::vector<Field> trailers_;
  Http2Stream stream_;
  Http2Body body_;
  bool head_request_ = false;
  bool reused_;
  bool response_started_ = false;
  bool final_head_came_ = false;
  bool given_up_ = false;         // nothing further is taken
  std::size_t interim_cost_ = 0;  // of all interim heads
};

using Http2OpenResult = std::variant<std::unique_ptr<Http2Call>, ProxyError>;

}  // namespace hedge::proxy::http
