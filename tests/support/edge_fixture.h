// A whole edge in the test's process: real sockets, real workers, TLS from a fresh CA, on ports that the
// system chooses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "certs/certificate_store.h"
#include "proxy/access_log.h"
#include "proxy/edge_server.h"
#include "proxy/http/http_service.h"
#include "proxy/stream/tls_context.h"
#include "router/route.h"
#include "tests/support/temporary_directory.h"

namespace hedge::test {

// "alpha.dev.localhost", "tcp:127.0.0.1:1234"
router::Route route_to(const std::string& host, const std::string& upstream);

struct EdgeOptions {
  proxy::EdgeSettings settings;
  std::vector<std::string> trusted_proxies;
  std::size_t workers = 1;
  bool tls = false;
};

class EdgeFixture {
 public:
  // Serves `routes` from its first request on.
  explicit EdgeFixture(std::vector<router::Route> routes, EdgeOptions options = {});
  // Drains and joins.
  ~EdgeFixture();
  EdgeFixture(const EdgeFixture&) = delete;
  EdgeFixture& operator=(const EdgeFixture&) = delete;

  std::uint16_t plain_port() const { return server_->port(proxy::ListenerKind::plain); }
  std::uint16_t tls_port() const { return server_->port(proxy::ListenerKind::tls); }
  std::filesystem::path root_certificate() const;
  proxy::EdgeServer& server() { return *server_; }
  // The sum of all workers.
  std::uint64_t open_tunnels() const;
  std::uint64_t retries() const;

  // Stops the edge and returns its access log.
  std::vector<std::string> stop_and_read_log();

 private:
  void stop();
  void open_tls();

  TemporaryDirectory directory_;
  SystemClock clock_;
  std::unique_ptr<certs::CertificateStore> certificates_;
  std::unique_ptr<proxy::TlsContext> tls_;
  std::unique_ptr<proxy::AccessLog> access_log_;
  std::unique_ptr<proxy::http::HttpService> service_;
  std::unique_ptr<proxy::EdgeServer> server_;
};

// Sends one request without a body on a connection of its own and reads to the end of that connection.
// `head`: the request line and fields without "Connection: close" and the empty line.
std::string fetch(std::uint16_t port, const std::string& head);
// GET with this Host.
std::string get(std::uint16_t port, const std::string& host, const std::string& target = "/");

// What follows the first empty line.
std::string body_of(const std::string& response);
// The value of the first such field of a response or request text; empty if there is none.
std::string field_of(const std::string& text, const std::string& name);
// 0 if the text is no response.
int status_of(const std::string& response);

}  // namespace hedge::test
