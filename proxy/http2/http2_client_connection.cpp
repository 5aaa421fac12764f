#include "proxy/http2/http2_client_connection.h"

#include <algorithm>
#include <utility>

namespace hedge::proxy::http {
namespace {

// At once on one connection, whatever more the upstream would allow: the next connection shares the load.
constexpr std::size_t kMostCalls = 100;

}  // namespace

Http2ClientConnection::Http2ClientConnection(UpstreamLease lease, Reactor& reactor, BufferPool& buffers,
                                             std::chrono::milliseconds idle_limit)
    : lease_(std::move(lease)),
      idle_limit_(idle_limit),
      connection_(Http2Role::client, lease_.stream(), reactor, buffers, *this) {}

Http2ClientConnection::~Http2ClientConnection() = default;

void Http2ClientConnection::start() {
  reading_.spawn(run());
}

Task<void> Http2ClientConnection::run() {
  co_await connection_.run({});
  co_await connection_.finish();
}

bool Http2ClientConnection::takes_calls() const {
  if (is_retired() || connection_.is_dead() || connection_.is_closing() || reading_.empty()) return false;
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
    connection_.transport().set_deadline(idle_limit_);
  } else {
    connection_.transport().clear_deadline();
  }
}

}  // namespace hedge::proxy::http
