// X.509 certificates: read, written and asked about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "certs/openssl_ptr.h"

namespace hedge::certs {

// The first certificate in `pem`. Errors: corrupt.
Result<X509Ptr> parse_certificate(std::string_view pem);
// All of them, in order; unreadable blocks are left out, as every reader of a bundle does.
std::vector<X509Ptr> parse_certificates(std::string_view pem);
Result<std::string> certificate_pem(const X509& certificate);

// SHA-256 over the DER form, in lower-case hexadecimal: the only thing by which two certificates are
// compared.
std::string fingerprint(const X509& certificate);
std::string common_name(const X509& certificate);
std::string organizational_unit(const X509& certificate);
std::string issuer_unit(const X509& certificate);  // the issuer's organizational unit
WallTime not_before(const X509& certificate);
WallTime not_after(const X509& certificate);

// basicConstraints CA:TRUE.
bool is_authority(const X509& certificate);
bool is_self_issued(const X509& certificate);
bool has_key(const X509& certificate, const EVP_PKEY& key);
bool is_signed_by(const X509& certificate, const X509& issuer);

// The permitted DNS subtrees of its name constraints, as written. Empty: none.
std::vector<std::string> permitted_suffixes(const X509& certificate);

}  // namespace hedge::certs
