#include "certs/certificate_builder.h"

#include <array>

#include <openssl/err.h>

#include "base/digest.h"

namespace hedge::certs {
namespace {

constexpr std::size_t kSerialBytes = 16;
// RFC 7093, method 1: the leftmost 160 bits of SHA-256 over the public key.
constexpr std::size_t kKeyIdentifierBytes = 20;
// Bits of KeyUsage, RFC 5280, 4.2.1.3.
constexpr int kDigitalSignature = 0;
constexpr int kKeyCertSign = 5;
constexpr int kCrlSign = 6;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
int length(std::string_view text) {
  return static_cast<int>(text.size());
}

GeneralNamePtr dns_name(std::string_view name) {
  GeneralNamePtr general(GENERAL_NAME_new());
  ASN1_IA5STRING* value = ASN1_IA5STRING_new();
  if (!general || value == nullptr || ASN1_STRING_set(value, name.data(), length(name)) != 1) {
    ASN1_IA5STRING_free(value);
    return nullptr;
  }
  GENERAL_NAME_set0_value(general.get(), GEN_DNS, value);
  return general;
}

// `raw`: the address, in a constraint followed by its mask (RFC 5280, 4.2.1.10).
GeneralNamePtr ip_name(std::string_view raw) {
  GeneralNamePtr general(GENERAL_NAME_new());
  ASN1_OCTET_STRING* value = ASN1_OCTET_STRING_new();
  if (!general || value == nullptr || ASN1_OCTET_STRING_set(value, bytes(raw), length(raw)) != 1) {
    ASN1_OCTET_STRING_free(value);
    return nullptr;
  }
  GENERAL_NAME_set0_value(general.get(), GEN_IPADD, value);
  return general;
}

bool permit(NAME_CONSTRAINTS& constraints, GeneralNamePtr base) {
  GENERAL_SUBTREE* subtree = GENERAL_SUBTREE_new();
  if (subtree == nullptr || !base) {
    GENERAL_SUBTREE_free(subtree);
    return false;
  }
  GENERAL_NAME_free(subtree->base);
  subtree->base = base.release();
  if (sk_GENERAL_SUBTREE_push(constraints.permittedSubtrees, subtree) > 0) return true;
  GENERAL_SUBTREE_free(subtree);
  return false;
}

std::string loopback_v4_constraint() {
  return std::string("\x7f\0\0\0\xff\0\0\0", 8);
}
std::string loopback_v6_constraint() {
  return std::string(15, '\0') + '\x01' + std::string(16, '\xff');
}

}  // namespace

CertificateBuilder::CertificateBuilder(EVP_PKEY& key, const SubjectName& subject, WallTime not_before,
                                       WallTime not_after)
    : certificate_(X509_new()) {
  require(certificate_ != nullptr, "allocate a certificate");
  if (failure_) return;
  require(X509_set_version(certificate_.get(), X509_VERSION_3) == 1, "set the version");
  require(X509_set_pubkey(certificate_.get(), &key) == 1, "set the public key");
  set_serial();
  set_validity(not_before, not_after);
  set_subject(subject);
  set_subject_key_identifier();
}

void CertificateBuilder::require(bool done, std::string_view doing) {
  if (!done && !failure_) failure_ = openssl_error(doing);
}

void CertificateBuilder::add_extension(int nid, void* value, bool critical) {
  require(value != nullptr &&
              X509_add1_ext_i2d(certificate_.get(), nid, value, critical ? 1 : 0, X509V3_ADD_DEFAULT) == 1,
          OBJ_nid2ln(nid));
}

void CertificateBuilder::set_serial() {
  const std::string random = random_bytes(kSerialBytes);
  const BignumPtr number(BN_bin2bn(bytes(random), length(random), nullptr));
  require(number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate_.get())) != nullptr,
          "set the serial number");
}

void CertificateBuilder::set_validity(WallTime not_before, WallTime not_after) {
  using std::chrono::system_clock;
  require(ASN1_TIME_set(X509_getm_notBefore(certificate_.get()), system_clock::to_time_t(not_before)) !=
                  nullptr &&
              ASN1_TIME_set(X509_getm_notAfter(certificate_.get()), system_clock::to_time_t(not_after)) !=
                  nullptr,
          "set the validity");
}

void CertificateBuilder::set_subject(const SubjectName& subject) {
  X509_NAME* name = X509_get_subject_name(certificate_.get());
  const auto add = [&](int nid, const std::string& text) {
    if (text.empty()) return;
    require(X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8, bytes(text), length(text), -1, 0) == 1,
            "set the subject");
  };
  add(NID_organizationName, subject.organization);
  add(NID_organizationalUnitName, subject.organizational_unit);
  add(NID_commonName, subject.common_name);
}

void CertificateBuilder::set_subject_key_identifier() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const Asn1OctetStringPtr identifier(ASN1_OCTET_STRING_new());
  require(identifier && X509_pubkey_digest(certificate_.get(), EVP_sha256(), digest.data(), &size) == 1 &&
              ASN1_OCTET_STRING_set(identifier.get(), digest.data(), kKeyIdentifierBytes) == 1,
          "make the key identifier");
  add_extension(NID_subject_key_identifier, identifier.get(), false);
}

void CertificateBuilder::set_authority_key_identifier(const X509& issuer) {
  // X509_get0_subject_key_id() fills the certificate's cached extensions, hence its mutable parameter.
  const ASN1_OCTET_STRING* theirs = X509_get0_subject_key_id(const_cast<X509*>(&issuer));
  const AuthorityKeyIdPtr identifier(AUTHORITY_KEYID_new());
  require(theirs != nullptr && identifier != nullptr, "read the issuer's key identifier");
  if (failure_) return;
  identifier->keyid = ASN1_OCTET_STRING_dup(theirs);
  add_extension(NID_authority_key_identifier, identifier.get(), false);
}

void CertificateBuilder::set_key_usage(std::initializer_list<int> bits) {
  const BitStringPtr usage(ASN1_BIT_STRING_new());
  for (const int bit : bits)
    require(usage && ASN1_BIT_STRING_set_bit(usage.get(), bit, 1) == 1, "set the key usage");
  add_extension(NID_key_usage, usage.get(), true);
}

void CertificateBuilder::authority(int path_length) {
  const BasicConstraintsPtr constraints(BASIC_CONSTRAINTS_new());
  const auto limit = Asn1IntegerPtr(ASN1_INTEGER_new());
  require(constraints && limit && ASN1_INTEGER_set(limit.get(), path_length) == 1, "limit the path length");
  if (failure_) return;
  // OpenSSL writes this byte as it is, and DER knows one true only: browsers cannot read any other (X.690, 11.1).
  constraints->ca = 0xff;
  constraints->pathlen = ASN1_INTEGER_dup(limit.get());
  add_extension(NID_basic_constraints, constraints.get(), true);
  set_key_usage({kKeyCertSign, kCrlSign});
}

void CertificateBuilder::end_entity() {
  const BasicConstraintsPtr constraints(BASIC_CONSTRAINTS_new());
  add_extension(NID_basic_constraints, constraints.get(), true);
  set_key_usage({kDigitalSignature});
  const ExtendedKeyUsagePtr usage(sk_ASN1_OBJECT_new_null());
  require(usage && sk_ASN1_OBJECT_push(usage.get(), OBJ_nid2obj(NID_server_auth)) > 0,
          "set the extended key usage");
  add_extension(NID_ext_key_usage, usage.get(), false);
}

void CertificateBuilder::permit_only(const std::vector<std::string>& suffixes) {
  const NameConstraintsPtr constraints(NAME_CONSTRAINTS_new());
  if (constraints) constraints->permittedSubtrees = sk_GENERAL_SUBTREE_new_null();
  require(constraints && constraints->permittedSubtrees != nullptr, "allocate name constraints");
  if (failure_) return;
  for (const std::string& suffix : suffixes)
    require(permit(*constraints, dns_name(suffix)), "permit a suffix");
  require(permit(*constraints, ip_name(loopback_v4_constraint())), "permit 127.0.0.0/8");
  require(permit(*constraints, ip_name(loopback_v6_constraint())), "permit ::1");
  add_extension(NID_name_constraints, constraints.get(), true);
}

void CertificateBuilder::permit_as(const X509& other) {
  const NameConstraintsPtr constraints(
      static_cast<NAME_CONSTRAINTS*>(X509_get_ext_d2i(&other, NID_name_constraints, nullptr, nullptr)));
  add_extension(NID_name_constraints, constraints.get(), true);
}

void CertificateBuilder::alternative_names(const std::vector<std::string>& dns_names,
                                           const std::vector<std::string>& ip_addresses) {
  const GeneralNamesPtr names(sk_GENERAL_NAME_new_null());
  const auto add = [&](GeneralNamePtr name) {
    require(names && name && sk_GENERAL_NAME_push(names.get(), name.get()) > 0, "add an alternative name");
    if (!failure_) [[maybe_unused]]
      GENERAL_NAME* owned_by_names = name.release();
  };
  for (const std::string& name : dns_names) add(dns_name(name));
  for (const std::string& address : ip_addresses) {
    const Asn1OctetStringPtr raw(a2i_IPADDRESS(address.c_str()));
    require(raw != nullptr, "read an address");
    if (failure_) return;
    add(ip_name({reinterpret_cast<const char*>(ASN1_STRING_get0_data(raw.get())),
                 static_cast<std::size_t>(ASN1_STRING_length(raw.get()))}));
  }
  add_extension(NID_subject_alt_name, names.get(), false);
}

Result<X509Ptr> CertificateBuilder::sign(const X509* issuer, EVP_PKEY& issuer_key) {
  if (issuer != nullptr && !failure_) set_authority_key_identifier(*issuer);
  const X509* named_by = issuer != nullptr ? issuer : certificate_.get();
  if (!failure_) {
    require(X509_set_issuer_name(certificate_.get(), X509_get_subject_name(named_by)) == 1, "set the issuer");
    require(X509_sign(certificate_.get(), &issuer_key, EVP_sha256()) > 0, "sign a certificate");
  }
  if (failure_) return *failure_;
  return std::move(certificate_);
}

}  // namespace hedge::certs
