// Workers and listeners of the real edge around a protocol of lines, so that connections are tested without
// HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "certs/certificate_store.h"
#include "proxy/edge_server.h"
#include "proxy/stream/tls_context.h"
#include "tests/support/temporary_directory.h"

namespace hedge::test {

// Each line is a request:
//   "who"         the connection's facts: "tls=0 https=0 alpn= name= ip=127.0.0.1"
//   "route HOST"  "known" or "unknown"
//   "hold"        "holding", and after the next byte "held": an exchange that takes its time
//   "stuck"       waits half a second for something that neither the client nor a drain can end
//   anything else is sent back after "ok:"
class LineService final : public proxy::ConnectionService {
 public:
  Task<void> serve(proxy::EdgeWorker& worker, proxy::DownstreamConnection& connection) override;

 private:
  Task<bool> answer(proxy::EdgeWorker& worker, proxy::DownstreamConnection& connection,
                    const std::string& line);
};

class LineEdge {
 public:
  explicit LineEdge(proxy::EdgeLimits limits = {}, std::size_t workers = 1);
  // Drains and joins.
  ~LineEdge();

  proxy::EdgeServer& server() { return *server_; }
  std::uint16_t plain_port() const { return server_->port(proxy::ListenerKind::plain); }
  std::uint16_t tls_port() const { return server_->port(proxy::ListenerKind::tls); }
  std::filesystem::path root_certificate() const { return directory_ / "ca" / "root.crt"; }
  // Waits until so many connections are open; false after ten seconds.
  bool wait_for_open(std::uint64_t count) const;
  void drain_and_join();

 private:
  TemporaryDirectory directory_;
  SystemClock clock_;
  LineService service_;
  std::unique_ptr<certs::CertificateStore> certificates_;
  std::unique_ptr<proxy::TlsContext> tls_;
  std::unique_ptr<proxy::EdgeServer> server_;
};

// Limits so short that a test can let them pass.
proxy::EdgeLimits short_limits();

}  // namespace hedge::test
