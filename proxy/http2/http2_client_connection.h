// One connection to an HTTP/2 upstream, for many calls at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/task.h"
#include "base/task_group.h"
#include "proxy/http2/http2_connection.h"
#include "proxy/upstream/upstream_pools.h"

namespace hedge::proxy::http {

class Http2ClientConnection final : private Http2ConnectionEvents {
 public:
  // `lease`: a fresh connection. `idle_limit`: how long it is kept without a call.
  // Lifetime: `reactor` and `buffers` outlive the connection.
  Http2ClientConnection(UpstreamLease lease, Reactor& reactor, BufferPool& buffers,
                        std::chrono::milliseconds idle_limit);
  // Requires: is_over().
  ~Http2ClientConnection() override;

  // Begins to read. Once.
  void start();
  // A further call may be made now.
  bool takes_calls() const;
  // Nothing uses it any more.
  bool is_over() const { return reading_.empty() && connection_.open_streams() == 0; }
  // Ends all calls.
  void close();
  // Where it leads to has gone away, or the upstream wants no more calls; it ends with its last one.
  bool is_retired() const { return goes_away_ || lease_.is_retired(); }
  // Waits until is_over(), after close(); all calls have gone before.
  auto join() noexcept { return reading_.join(); }

  // For calls. True: not the first one.
  bool begin_call() noexcept { return calls_++ > 0; }
  Http2Connection& connection() noexcept { return connection_; }
  const ResolvedUpstream& upstream() const noexcept { return lease_.upstream(); }

 private:
  Http2StreamEvents* stream_began(std::int32_t /*id*/) override { return nullptr; }
  void received() override {}
  void shutdown_acknowledged() override {}
  void goaway_received() override { goes_away_ = true; }
  void about_to_wait() override;
  Task<void> run();

  UpstreamLease lease_;
  std::chrono::milliseconds idle_limit_;
  Http2Connection connection_;
  TaskGroup reading_;
  std::uint64_t calls_ = 0;
  bool goes_away_ = false;
  bool idle_ = false;
};

}  // namespace hedge::proxy::http
