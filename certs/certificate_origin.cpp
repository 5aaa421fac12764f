#include "certs/certificate_origin.h"

#include <algorithm>

#include "certs/certificate.h"

namespace hedge::certs {

bool is_root_of(const X509& certificate, std::string_view installation) {
  return is_self_issued(certificate) && organizational_unit(certificate) == installation;
}

bool is_issued_by(const X509& certificate, std::string_view installation) {
  return !is_self_issued(certificate) && issuer_unit(certificate) == installation;
}

OwnCertificates find_own(const std::vector<X509Ptr>& certificates, std::string_view installation,
                         std::string_view wanted) {
  OwnCertificates own;
  for (const X509Ptr& certificate : certificates) {
    if (is_issued_by(*certificate, installation)) own.has_issued = true;
    if (!is_root_of(*certificate, installation)) continue;
    std::string found = fingerprint(*certificate);
    if (found == wanted) {
      own.has_root = true;
    } else if (std::find(own.older.begin(), own.older.end(), found) == own.older.end()) {
      own.older.push_back(std::move(found));  // a store may hold it under two names
    }
  }
  return own;
}

void describe_own(const OwnCertificates& own, std::string_view wanted, TrustFinding& finding) {
  finding.status = own.has_root ? TrustStatus::trusted : TrustStatus::absent;
  finding.error = own.has_root ? "" : "ca_untrusted";
  if (own.has_root) {
    finding.fingerprint = wanted;
  } else if (!own.older.empty()) {
    finding.fingerprint = own.older.front();
  }
  if (own.has_issued) {
    finding.error = "ca_misplaced";
    finding.detail = "holds a leaf or an intermediate, not the root: it makes nothing trusted";
  } else if (!own.older.empty()) {
    finding.detail = own.has_root ? "also holds an older root of this installation"
                                  : "holds an older root of this installation";
  }
}

}  // namespace hedge::certs
