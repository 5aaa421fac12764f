// Private keys: made, written and read.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "certs/openssl_ptr.h"

namespace hedge::certs {

// A fresh EC P-256 key.
Result<PkeyPtr> generate_key();

// PKCS#8, not encrypted: the file's mode protects it.
Result<std::string> private_key_pem(const EVP_PKEY& key);

// The first private key in `pem`; other blocks around it are ignored. An encrypted key is refused, never
// asked about. Errors: corrupt.
Result<PkeyPtr> parse_private_key(std::string_view pem);

}  // namespace hedge::certs
