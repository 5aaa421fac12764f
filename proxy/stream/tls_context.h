// The server's side of TLS: one configuration, shared by all workers, and the certificate for each name.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "certs/certificate_store.h"
#include "proxy/stream/ssl_ptr.h"
#include "router/route_table.h"

namespace hedge::proxy {

// What a handshake reads of the worker that it runs on.
struct HandshakeRoutes {
  // The worker's current table; the pointer that it points at changes only between turns of the reactor.
  const std::shared_ptr<const router::RouteTable>* table = nullptr;
};

// Why a handshake ended where the fault is ours and not the client's: ERR_LIB_USER's reason in OpenSSL's error
// queue. The entry's data is the text for the log.
inline constexpr int kNoCertificateMade = 1;

class TlsContext {
 public:
  // TLS 1.2 and 1.3. Certificates come from `store`, chosen by server name while the handshake runs.
  // Errors: io, if OpenSSL refuses the configuration.
  // Lifetime: `store` outlives the context.
  static Result<std::unique_ptr<TlsContext>> create(certs::CertificateStore& store);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // One connection's state, to accept on. Any thread. Null: out of memory.
  // Lifetime: `routes` outlives the handshake.
  SslPtr new_server_session(const HandshakeRoutes& routes) const;

 private:
  class Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hedge::proxy
