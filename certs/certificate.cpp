#include "certs/certificate.h"

#include <array>
#include <ctime>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/text.h"

namespace hedge::certs {
namespace {

BioPtr reader(std::string_view pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

std::string name_entry(const X509_NAME* name, int nid) {
  const int at = X509_NAME_get_index_by_NID(name, nid, -1);
  if (at < 0) return {};
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(value));
  return {data, static_cast<std::size_t>(ASN1_STRING_length(value))};
}

WallTime to_wall(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

}  // namespace

Result<X509Ptr> parse_certificate(std::string_view pem) {
  auto all = parse_certificates(pem);
  if (all.empty()) return Error(ErrorKind::corrupt, "no readable certificate");
  return std::move(all.front());
}

std::vector<X509Ptr> parse_certificates(std::string_view pem) {
  std::vector<X509Ptr> found;
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  // Block by block, so that one damaged block does not hide the ones after it.
  for (std::size_t at = pem.find(kBegin); at != std::string_view::npos; at = pem.find(kBegin, at + 1)) {
    const BioPtr in = reader(pem.substr(at));
    if (X509Ptr certificate(in ? PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr) : nullptr);
        certificate) {
      found.push_back(std::move(certificate));
    }
  }
  ERR_clear_error();
  return found;
}

Result<std::string> certificate_pem(const X509& certificate) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_X509(out.get(), &certificate) != 1) return openssl_error("write a certificate");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string fingerprint(const X509& certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  return to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

std::string common_name(const X509& certificate) {
  return name_entry(X509_get_subject_name(&certificate), NID_commonName);
}

std::string organizational_unit(const X509& certificate) {
  return name_entry(X509_get_subject_name(&certificate), NID_organizationalUnitName);
}

std::string issuer_unit(const X509& certificate) {
  return name_entry(X509_get_issuer_name(&certificate), NID_organizationalUnitName);
}

WallTime not_before(const X509& certificate) {
  return to_wall(X509_get0_notBefore(&certificate));
}
WallTime not_after(const X509& certificate) {
  return to_wall(X509_get0_notAfter(&certificate));
}

bool is_authority(const X509& certificate) {
  const BasicConstraintsPtr constraints(static_cast<BASIC_CONSTRAINTS*>(
      X509_get_ext_d2i(&certificate, NID_basic_constraints, nullptr, nullptr)));
  return constraints && constraints->ca != 0;
}

bool is_self_issued(const X509& certificate) {
  return X509_NAME_cmp(X509_get_subject_name(&certificate), X509_get_issuer_name(&certificate)) == 0;
}

bool has_key(const X509& certificate, const EVP_PKEY& key) {
  const bool same = X509_check_private_key(&certificate, &key) == 1;
  ERR_clear_error();
  return same;
}

bool is_signed_by(const X509& certificate, const X509& issuer) {
  // X509_verify() caches the encoding inside the certificate, hence its mutable parameter.
  const bool signed_by = X509_verify(const_cast<X509*>(&certificate), X509_get0_pubkey(&issuer)) == 1;
  ERR_clear_error();
  return signed_by;
}

std::vector<std::string> permitted_suffixes(const X509& certificate) {
  std::vector<std::string> suffixes;
  const NameConstraintsPtr constraints(
      static_cast<NAME_CONSTRAINTS*>(X509_get_ext_d2i(&certificate, NID_name_constraints, nullptr, nullptr)));
  if (!constraints) return suffixes;
  for (int i = 0; i < sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees); ++i) {
    const GENERAL_NAME* base = sk_GENERAL_SUBTREE_value(constraints->permittedSubtrees, i)->base;
    if (base->type != GEN_DNS) continue;
    const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(base->d.dNSName));
    suffixes.emplace_back(data, static_cast<std::size_t>(ASN1_STRING_length(base->d.dNSName)));
  }
  return suffixes;
}

}  // namespace hedge::certs
