// TLS towards upstreams: routes with the protocol https.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/task.h"
#include "proxy/edge_settings.h"
#include "proxy/proxy_error.h"
#include "proxy/stream/reactor.h"
#include "proxy/stream/socket_stream.h"
#include "proxy/stream/ssl_ptr.h"
#include "proxy/stream/tls_stream.h"

namespace hedge::proxy {

// A connection to an upstream, with or without TLS.
struct UpstreamConnection {
  std::unique_ptr<SocketStream> socket;
  std::unique_ptr<TlsStream> tls;  // null: plain; goes before the socket

  UpstreamConnection() = default;
  UpstreamConnection(UpstreamConnection&&) noexcept = default;
  // Member by member, the old socket would go before the TLS that still says goodbye on it.
  UpstreamConnection& operator=(UpstreamConnection&& other) noexcept {
    std::swap(socket, other.socket);
    std::swap(tls, other.tls);
    other.reset();
    return *this;
  }
  ~UpstreamConnection() = default;

  explicit operator bool() const noexcept { return socket != nullptr; }
  ByteStream& stream() const noexcept { return tls != nullptr ? static_cast<ByteStream&>(*tls) : *socket; }
  // Something waits to be read although nobody asked for anything.
  bool is_disturbed() const { return socket->is_still_readable() || (tls != nullptr && tls->has_buffered()); }
  void reset() noexcept {
    tls.reset();
    socket.reset();
  }
};

// One a worker.
class UpstreamTls {
 public:
  // `scratch`: as TlsStream wants it. Lifetime: all outlive the object and the connections.
  UpstreamTls(const EdgeSettings& settings, Reactor& reactor, std::span<char> scratch);

  // Shakes hands on a connection that stands, as a client of `name`, and verifies the certificate unless the
  // settings say otherwise. Bounded by the handshake limit.
  // Errors: upstream_tls_failed.
  Task<std::optional<ProxyError>> secure(UpstreamConnection& connection, std::string name);

 private:
  // Made when it is needed first: reading the system's roots takes milliseconds and memory.
  std::optional<ProxyError> prepare();
  SslPtr new_session(const std::string& name);

  const EdgeSettings& settings_;
  Reactor& reactor_;
  std::span<char> scratch_;
  SslContextPtr context_;
};

}  // namespace hedge::proxy
