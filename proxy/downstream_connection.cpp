#include "proxy/downstream_connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include <openssl/err.h>

#include "proxy/edge_worker.h"
#include "proxy/handshake_log.h"
#include "proxy/stream/socket_stream.h"
#include "proxy/stream/tls_context.h"
#include "proxy/stream/tls_stream.h"

namespace hedge::proxy {
namespace {

// The content type of a handshake record, with which every TLS connection begins (RFC 8446, section 5.1). No
// HTTP request begins with it.
constexpr int kHandshakeRecord = 0x16;

}  // namespace

DownstreamConnection::DownstreamConnection(EdgeWorker& worker, std::unique_ptr<SocketStream> socket,
                                           ListenerKind listener)
    : worker_(worker),
      socket_(std::move(socket)),
      stream_(socket_.get()),
      accepted_at_(worker.reactor().now()),
      listener_(listener) {
  worker_.enter(*this);
}

DownstreamConnection::~DownstreamConnection() {
  worker_.leave(*this);
}

Task<bool> DownstreamConnection::open() {
  const EdgeLimits& limits = worker_.settings().limits;
  // A client that says nothing has as long as a handshake; browsers open connections in advance and use them
  // later, so on a plain listener the idle limit holds.
  idle_ = true;
  socket_->set_deadline(
      idle_limit(listener_ == ListenerKind::tls ? limits.handshake : limits.idle_keep_alive));
  const IoResult first = co_await socket_->readable();
  idle_ = false;
  if (!first.ok()) co_return false;
  if (socket_->peek_first_byte() != kHandshakeRecord) {
    wants_https_ = listener_ == ListenerKind::tls;
    co_return true;
  }
  co_return co_await shake_hands();
}

Task<bool> DownstreamConnection::shake_hands() {
  SslPtr session =
      worker_.tls() != nullptr ? worker_.tls()->new_server_session(worker_.handshake_routes()) : nullptr;
  if (session == nullptr) co_return false;
  Reactor& reactor = worker_.reactor();
  tls_ = std::make_unique<TlsStream>(*socket_, std::move(session), reactor.deadlines(),
                                     worker_.buffers().scratch());
  stream_ = tls_.get();
  socket_->clear_deadline();
  tls_->set_deadline(worker_.settings().limits.handshake);
  const IoResult done = co_await tls_->handshake();
  WorkerStats& stats = worker_.mutable_stats();
  if (done.ok()) {
    stats.handshakes_done.add();
    co_return true;
  }
  const unsigned long reason = ERR_peek_error();
  std::string detail = handshake_detail(reason);  // before anything else asks OpenSSL
  const std::string unpermitted = tls_->unpermitted_name();
  const HandshakeFailure failure =
      blame_clock(blame_constraints(classify_handshake_failure(done, reason), unpermitted.empty()),
                  tls_->has_own_certificate_ended());
  if (failure == HandshakeFailure::name_not_permitted) detail = unpermitted;
  stats.handshakes_failed[static_cast<std::size_t>(failure)].add();
  worker_.handshake_log().failed(failure, socket_->identity().peer_ip, detail);
  co_return false;
}

void DownstreamConnection::begin_idle() {
  idle_ = true;
  stream_->set_deadline(idle_limit(worker_.settings().limits.idle_keep_alive));
  if (worker_.draining() && had_request_ && !worker_.has_successor()) stream_->cancel();
}

std::chrono::milliseconds DownstreamConnection::idle_limit(std::chrono::milliseconds usual) const {
  if (!worker_.draining() || worker_.has_successor()) return usual;
  return std::min(usual, worker_.settings().limits.drain_first_request);
}

std::chrono::milliseconds DownstreamConnection::first_request_left() const {
  if (had_request_) return std::chrono::milliseconds(0);
  const std::chrono::milliseconds open_for(worker_.reactor().now() - accepted_at_);
  return worker_.settings().limits.drain_first_request - open_for;
}

void DownstreamConnection::begin_drain() {
  if (drain_watcher_ != nullptr) return drain_watcher_->drain_began();
  // With a successor whoever is between two requests is told with the answer to the next one.
  if (!idle_ || worker_.has_successor()) return;
  // Asked of the kernel: the reactor may not have told yet what has arrived.
  if (socket_->peek_first_byte() >= 0) {
    stream_->set_deadline(idle_limit(worker_.settings().limits.idle_keep_alive));
    return;
  }
  // Whether the worker accepts a client before it hears of the drain or after is chance; the client must not
  // feel it.
  const std::chrono::milliseconds left = first_request_left();
  if (left.count() > 0) {
    stream_->set_deadline(left);
  } else {
    stream_->cancel();
  }
}

void DownstreamConnection::begin_request_head() {
  idle_ = false;
  had_request_ = true;
  stream_->set_deadline(worker_.settings().limits.request_head);
}

void DownstreamConnection::end_request_head() {
  stream_->clear_deadline();
}

}  // namespace hedge::proxy
