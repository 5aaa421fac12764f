// One connection to an HTTP/2 upstream, for many calls at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/task.h"
#include "base/task_group.h"
#include "proxy/edge_settings.h"
#include "proxy/http2/http2_connection.h"
#include "proxy/stream/deadline_list.h"
#include "proxy/stream/signal.h"
#include "proxy/upstream/upstream_pools.h"

namespace hedge::proxy::http {

class Http2ClientConnection final : private Http2ConnectionEvents {
 public:
  // `lease`: a fresh connection. `settled`: notified when is_settling() has become false.
  // Lifetime: all outlive the connection.
  Http2ClientConnection(UpstreamLease lease, Reactor& reactor, BufferPool& buffers, const EdgeLimits& limits,
                        Signal& settled);
  // Requires: is_over().
  ~Http2ClientConnection() override;

  // Begins to read. Once.
  void start();
  // A further call may be made now: it stands, the upstream allows one more, and it has not been silent for
  // long about one that it has.
  bool takes_calls() const;
  // The upstream has not yet said how many calls it takes; until then it gets one.
  bool is_settling() const { return settling_; }
  // Nothing uses it any more.
  bool is_over() const { return reading_.empty() && connection_.open_streams() == 0; }
  // Ends all calls.
  void close();
  // Where it leads to has gone away, or the upstream wants no more calls; it ends with its last one.
  bool is_retired() const { return goes_away_ || lease_.is_retired(); }
  // Waits until is_over(), after close(); all calls have gone before.
  auto join() noexcept { return reading_.join(); }

  // For calls. True: not the first one.
  bool begin_call() noexcept;
  Http2Connection& connection() noexcept { return connection_; }
  const ResolvedUpstream& upstream() const noexcept { return lease_.upstream(); }

 private:
  Http2StreamEvents* stream_began(std::int32_t /*id*/) override { return nullptr; }
  void received() override;
  void shutdown_acknowledged() override {}
  void goaway_received() override { goes_away_ = true; }
  void about_to_wait() override;
  Task<void> run();
  void settle();

  UpstreamLease lease_;
  Reactor& reactor_;
  const EdgeLimits& limits_;
  Signal& settled_;
  Http2Connection connection_;
  TaskGroup reading_;
  std::uint64_t calls_ = 0;
  std::optional<Millis> unanswered_since_;  // when a call began after which nothing at all has come
  bool settling_ = true;
  bool goes_away_ = false;
  bool idle_ = false;
};

}  // namespace hedge::proxy::http
