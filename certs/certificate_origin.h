// Whose certificate something in a trust store is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "certs/openssl_ptr.h"
#include "certs/trust_store.h"

namespace hedge::certs {

// A root that this CA directory made, now or earlier.
bool is_root_of(const X509& certificate, std::string_view installation);
// A leaf or an intermediate of this CA directory: in a store it makes nothing trusted.
bool is_issued_by(const X509& certificate, std::string_view installation);

// What of ours is among the certificates of a store.
struct OwnCertificates {
  bool has_root = false;           // the wanted one
  std::vector<std::string> older;  // fingerprints of other roots of the installation
  bool has_issued = false;         // a leaf or an intermediate stands there as if it were a root
};
OwnCertificates find_own(const std::vector<X509Ptr>& certificates, std::string_view installation,
                         std::string_view wanted);

// Status, error, detail and fingerprint of what was found.
void describe_own(const OwnCertificates& own, std::string_view wanted, TrustFinding& finding);

}  // namespace hedge::certs
