#include "proxy/upstream/upstream_tls.h"

#include <string_view>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "base/text.h"
#include "proxy/upstream/endpoint.h"

namespace hedge::proxy {
namespace {

// In the wire's form.
constexpr std::string_view kProtocols = "\x08http/1.1";

ProxyError failed(std::string detail, std::string fix) {
  return ProxyError{ProxyReason::upstream_tls_failed, std::move(detail), std::move(fix)};
}

// Why the handshake failed, in OpenSSL's words.
ProxyError explain(SSL* ssl, const IoResult& result, const std::string& name) {
  const long verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK)
    return failed("the upstream's certificate is not accepted for " + printable(name) + ": " +
                      X509_verify_cert_error_string(verified),
                  "set edge.upstream_ca to the root that signed it, or edge.upstream_verify = false for this "
                  "machine's own services");
  const unsigned long code = ERR_peek_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  const std::string why = reason != nullptr ? reason : to_error(result, "shaking hands").to_string();
  return failed("the TLS handshake with the upstream failed: " + why,
                "check that the upstream's port speaks TLS, or give the route the protocol http1");
}

bool is_ip(const std::string& name) {
  return Endpoint::from_ip(name, 1).has_value();
}

}  // namespace

UpstreamTls::UpstreamTls(const EdgeSettings& settings, Reactor& reactor, std::span<char> scratch)
    : settings_(settings), reactor_(reactor), scratch_(scratch) {}

std::optional<ProxyError> UpstreamTls::prepare() {
  if (context_ != nullptr) return std::nullopt;
  SslContextPtr made(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = made.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(kProtocols.data()),
                              static_cast<unsigned>(kProtocols.size())) != 0)
    return failed("OpenSSL cannot make a TLS context", {});
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (settings_.upstream_verify) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    const bool loaded = settings_.upstream_ca.empty()
                            ? SSL_CTX_set_default_verify_paths(context) == 1
                            : SSL_CTX_load_verify_file(context, settings_.upstream_ca.c_str()) == 1;
    if (!loaded)
      return failed("the roots for upstreams cannot be read from " +
                        (settings_.upstream_ca.empty() ? std::string("the system") : settings_.upstream_ca),
                    "check edge.upstream_ca");
  }
  context_ = std::move(made);
  return std::nullopt;
}

SslPtr UpstreamTls::new_session(const std::string& name) {
  SslPtr ssl(SSL_new(context_.get()));
  if (ssl == nullptr) return nullptr;
  SSL_set_connect_state(ssl.get());
  if (is_ip(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), name.c_str());
  } else {
    // SSL_set_tlsext_host_name() without its C-style cast.
    SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(name.c_str()));
    SSL_set1_host(ssl.get(), name.c_str());
  }
  return ssl;
}

Task<std::optional<ProxyError>> UpstreamTls::secure(UpstreamConnection& connection, std::string name) {
  if (std::optional<ProxyError> wrong = prepare()) co_return wrong;
  SslPtr session = new_session(name);
  if (session == nullptr) co_return failed("OpenSSL cannot make a TLS session", {});
  SSL* ssl = session.get();
  connection.tls =
      std::make_unique<TlsStream>(*connection.socket, std::move(session), reactor_.deadlines(), scratch_);
  connection.tls->set_deadline(settings_.limits.handshake);
  const IoResult done = co_await connection.tls->handshake();
  if (!done.ok()) co_return explain(ssl, done, name);
  connection.tls->clear_deadline();
  co_return std::nullopt;
}

}  // namespace hedge::proxy
