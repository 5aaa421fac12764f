// Owning pointers for OpenSSL's TLS objects.
#pragma once

#include <memory>

#include <openssl/ssl.h>

#include "certs/openssl_ptr.h"

namespace hedge::proxy {

using SslPtr = std::unique_ptr<SSL, certs::OpensslFree<&SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, certs::OpensslFree<&SSL_CTX_free>>;

}  // namespace hedge::proxy
