// The state of one forward(); see forwarder.h.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/task_group.h"
#include "proxy/forwarder.h"
#include "proxy/http/http1_client.h"
#include "proxy/http2/http2_call.h"
#include "proxy/metrics/metered_request.h"
#include "proxy/upstream/upstream_pools.h"
#include "router/host_pattern.h"
#include "router/route_table.h"

namespace hedge::proxy {

class Forwarding {
 public:
  Forwarding(http::Exchange& exchange, const ForwardContext& context);

  Task<void> run();

 private:
  using Failure = std::optional<ProxyError>;

  Failure choose_route();
  ProxyError loop_error() const;

  // The client's wish for another protocol is one that a server may pass over.
  bool ignores_upgrade() const;
  Task<void> run_request();
  // Sends the request and reads up to the final head of the response.
  Task<Failure> attempt(LeaseKind kind);
  // A connection and the call on it.
  Task<Failure> open(LeaseKind kind);
  Task<Failure> open_http1(LeaseKind kind);
  Task<Failure> open_http2(LeaseKind kind);
  void drop_upstream();
  Task<Failure> send_request();
  Task<Failure> read_final_head();
  bool may_repeat(const ProxyError& error) const;

  Task<void> relay_response();
  // The rest of the body, read and sent piece by piece, or moved inside the kernel where nothing forbids it.
  // False: the client cannot be reached any more.
  Task<bool> relay_body();
  void note_body_failure();
  void finish_upstream(bool clean);

  // The rest of the request's body, beside the response.
  Task<void> upload();
  Task<void> finish_upload();

  Task<void> run_upgrade();
  Task<void> tunnel();

  Task<void> answer(ProxyError error);
  bool may_list_hosts() const;

  http::Exchange& exchange_;
  EdgeWorker& worker_;
  http::RequestState& state_;
  const TrustedProxies& trusted_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  std::shared_ptr<const router::RouteTable> table_;
  std::optional<router::Authority> authority_;
  const router::Route* route_ = nullptr;
  std::string_view request_id_;

  UpstreamLease lease_;
  std::optional<http::Http1Client> http1_;
  std::unique_ptr<http::Http2Call> http2_;
  http::UpstreamCall* call_ = nullptr;  // one of both
  http::BodyChunk first_chunk_;  // what of the body had come with the head
  std::size_t sent_bytes_ = 0;   // by the last attempt
  int attempts_ = 0;
  MeteredRequest meter_;

  TaskGroup uploads_;
  bool uploading_ = false;                    // upload() was spawned
  bool upload_abandoned_ = false;             // what still comes is thrown away
  bool upload_complete_ = false;              // the upstream was sent the whole body
  std::optional<ProxyError> upload_failure_;  // the client's side failed
};

}  // namespace hedge::proxy
