#include "proxy/http2/http2_client_connection.h"

#include <algorithm>
#include <utility>

namespace hedge::proxy::http {
namespace {

// At once on one connection, whatever more the upstream would allow: the next connection shares the load.
constexpr std::size_t kMostCalls = 100;

}  // namespace

Http2ClientConnection::Http2ClientConnection(UpstreamLease lease, Reactor& reactor, BufferPool& buffers,
                                             const EdgeLimits& limits, Signal& settled)
    : lease_(std::move(lease)),
      reactor_(reactor),
      limits_(limits),
      settled_(settled),
      connection_(Http2Role::client, lease_.stream(), reactor, buffers, *this) {}

Http2ClientConnection::~Http2ClientConnection() = default;

void Http2ClientConnection::start() {
  reading_.spawn(run());
}

Task<void> Http2ClientConnection::run() {
  co_await connection_.run({});
  co_await connection_.finish();
  settle();
}

void Http2ClientConnection::received() {
  unanswered_since_.reset();
  if (connection_.session().has_peer_settings()) settle();
}

// Last in its callers: whoever is resumed makes calls.
void Http2ClientConnection::settle() {
  if (std::exchange(settling_, false)) settled_.notify_all();
}

bool Http2ClientConnection::begin_call() noexcept {
  if (!unanswered_since_) unanswered_since_ = reactor_.now();
  // Deadlines are set anew when it is idle again.
  idle_ = false;
  return calls_++ > 0;
}

bool Http2ClientConnection::takes_calls() const {
  if (is_retired() || connection_.is_dead() || connection_.is_closing() || reading_.empty()) return false;
  // The upstream's machine may be gone without a word; a new connection finds out within its limit. What has
  // been sent on this one waits for its answer as it does on one of HTTP/1.
  if (unanswered_since_ && reactor_.now() - *unanswered_since_ > limits_.connect.count()) return false;
  if (settling_) return connection_.open_streams() == 0;
  const std::size_t most = std::min<std::size_t>(kMostCalls, connection_.session().peer_most_streams());
  return connection_.open_streams() < most;
}

void Http2ClientConnection::close() {
  connection_.transport().cancel();
}

void Http2ClientConnection::about_to_wait() {
  const bool idle = connection_.open_streams() == 0;
  if (idle == idle_) return;
  idle_ = idle;
  if (idle) {
    connection_.transport().set_deadline(limits_.upstream_idle);
  } else {
    connection_.transport().clear_deadline();
  }
}

}  // namespace hedge::proxy::http
