// A trust store as Java reads it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "certs/openssl_ptr.h"

namespace hedge::certs {

// PKCS#12 with every certificate marked as trusted the way Java marks it; neither encrypted nor sealed, because it
// holds nothing secret, so that Java reads it without a password. The same bytes for the same certificates.
Result<std::string> java_trust_file(const std::vector<const X509*>& roots);

}  // namespace hedge::certs
