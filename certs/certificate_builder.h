// Puts a certificate together, extension by extension, in this process: no configuration file takes part.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "certs/openssl_ptr.h"

namespace hedge::certs {

struct SubjectName {
  std::string organization;
  std::string organizational_unit;  // empty: left out
  std::string common_name;  // empty: left out. At most 64 bytes, the limit of RFC 5280's ub-common-name
};

// Every setter remembers the first failure; sign() tells it.
class CertificateBuilder {
 public:
  // A version 3 certificate for `key` with a random 128-bit serial number and a subject key identifier.
  CertificateBuilder(EVP_PKEY& key, const SubjectName& subject, WallTime not_before, WallTime not_after);

  void authority(int path_length);  // critical CA:TRUE, critical keyCertSign and cRLSign
  void end_entity();                // critical CA:FALSE, critical digitalSignature, serverAuth
  // Critical. DNS `suffixes` without a leading dot: the name itself and everything below. Addresses: loopback
  // only.
  void permit_only(const std::vector<std::string>& suffixes);
  // The same constraints as `other` has.
  void permit_as(const X509& other);
  void alternative_names(const std::vector<std::string>& dns_names,
                         const std::vector<std::string>& ip_addresses);

  // With `issuer` null it is self-signed. Requires: called once.
  Result<X509Ptr> sign(const X509* issuer, EVP_PKEY& issuer_key);

 private:
  void require(bool done, std::string_view doing);
  void add_extension(int nid, void* value, bool critical);
  void set_validity(WallTime not_before, WallTime not_after);
  void set_subject(const SubjectName& subject);
  void set_serial();
  void set_subject_key_identifier();
  void set_authority_key_identifier(const X509& issuer);
  void set_key_usage(std::initializer_list<int> bits);

  X509Ptr certificate_;
  std::optional<Error> failure_;
};

}  // namespace hedge::certs
