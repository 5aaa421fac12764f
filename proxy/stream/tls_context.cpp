#include "proxy/stream/tls_context.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "proxy/stream/ticket_keys.h"

namespace hedge::proxy {
namespace {

// In the wire's form. HTTP/2 goes in front once it is served.
constexpr std::string_view kProtocols = "\x08http/1.1";

// TLS 1.2: forward secrecy and AEAD only, like Mozilla's "intermediate" list without the CBC suites.
constexpr const char* kTls12Ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned int offered_length, void* /*unused*/) {
  const auto* ours = reinterpret_cast<const unsigned char*>(kProtocols.data());
  unsigned char* selected = nullptr;
  const int found = SSL_select_next_proto(
      &selected, length, ours, static_cast<unsigned int>(kProtocols.size()), offered, offered_length);
  // A client that offers only what we do not speak is served HTTP/1.1 without ALPN, which curl and old stacks
  // expect.
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *chosen = selected;
  return SSL_TLSEXT_ERR_OK;
}

// Alone in the queue: what OpenSSL adds behind it is only that the callback failed.
void tell_failure(const Error& error) {
  ERR_clear_error();
  ERR_raise_data(ERR_LIB_USER, kNoCertificateMade, "%s", error.to_string().c_str());
}

}  // namespace

class TlsContext::Impl {
 public:
  explicit Impl(certs::CertificateStore& store) : store_(store) {}
  Result<void> start();
  SslPtr new_server_session(const HandshakeRoutes& routes) const;

 private:
  static int choose_certificate(SSL* ssl, int* alert, void* self);

  certs::CertificateStore& store_;
  TicketKeys tickets_;
  SslContextPtr context_;
};

Result<void> TlsContext::Impl::start() {
  context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = context_.get();
  if (context == nullptr) return certs::openssl_error("make a TLS context");
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);  // or OpenSSL reads five bytes, then the record
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 1);
  constexpr std::array<unsigned char, 5> kSessionContext = {'h', 'e', 'd', 'g', 'e'};
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(context, kTls12Ciphers) != 1 ||
      SSL_CTX_set_session_id_context(context, kSessionContext.data(), kSessionContext.size()) != 1) {
    return certs::openssl_error("configure TLS");
  }
  SSL_CTX_set_alpn_select_cb(context, &choose_protocol, nullptr);
  // The macro for this has an old-style cast.
  SSL_CTX_callback_ctrl(context, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                        reinterpret_cast<void (*)()>(&choose_certificate));
  SSL_CTX_set_tlsext_servername_arg(context, this);
  return tickets_.attach(context);
}

// The server-name callback and not the certificate callback, because only this one can answer with
// unrecognized_name. It is called for clients that send no name, too.
int TlsContext::Impl::choose_certificate(SSL* ssl, int* alert, void* argument) {
  auto& self = *static_cast<Impl*>(argument);
  const char* sent = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  const auto* routes = static_cast<const HandshakeRoutes*>(SSL_get_app_data(ssl));
  const std::shared_ptr<const router::RouteTable> table = *routes->table;
  const certs::RouteLookup lookup = [&table](std::string_view name) -> std::optional<certs::KnownRoute> {
    const router::Route* route = table->find(name);
    if (route == nullptr) return std::nullopt;
    return certs::KnownRoute{route->host, route->match == router::HostMatch::exact_and_below};
  };
  const auto found =
      self.store_.certificate_for(sent != nullptr ? std::string_view(sent) : std::string_view(), lookup);
  if (!found) {
    const bool unknown = found.error().id() == "name_unrecognized";
    *alert = unknown ? SSL_AD_UNRECOGNIZED_NAME : SSL_AD_INTERNAL_ERROR;
    if (!unknown) tell_failure(found.error());
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  const certs::ServerCertificate& certificate = **found;
  if (SSL_use_cert_and_key(ssl, certificate.leaf.get(), certificate.key.get(), certificate.chain.get(), 1) !=
      1) {
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  return SSL_TLSEXT_ERR_OK;
}

SslPtr TlsContext::Impl::new_server_session(const HandshakeRoutes& routes) const {
  SslPtr ssl(SSL_new(context_.get()));
  if (ssl == nullptr) return nullptr;
  SSL_set_app_data(ssl.get(), const_cast<HandshakeRoutes*>(&routes));
  SSL_set_accept_state(ssl.get());
  return ssl;
}

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::create(certs::CertificateStore& store) {
  auto impl = std::make_unique<Impl>(store);
  if (Result<void> started = impl->start(); !started) return std::move(started).error();
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(impl)));
}

SslPtr TlsContext::new_server_session(const HandshakeRoutes& routes) const {
  return impl_->new_server_session(routes);
}

}  // namespace hedge::proxy
