#include "certs/given_certificate.h"

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "certs/certificate.h"
#include "certs/key_pair.h"

namespace hedge::certs {
namespace {

constexpr std::size_t kMaxFile = 1UL << 20;

Error invalid(const std::filesystem::path& file, std::string_view what) {
  return Error(ErrorKind::invalid_input, file.string() + " " + std::string(what))
      .with_id("certificate_invalid");
}

}  // namespace

Result<std::shared_ptr<const ServerCertificate>> load_given_certificate(const GivenCertificate& given,
                                                                        WallTime now) {
  const auto chain_pem = read_file(given.certificate, kMaxFile);
  if (!chain_pem) return chain_pem.error();
  const auto key_pem = read_file(given.private_key, kMaxFile);
  if (!key_pem) return key_pem.error();
  std::vector<X509Ptr> chain = parse_certificates(*chain_pem);
  if (chain.empty()) return invalid(given.certificate, "holds no readable certificate");
  auto key = parse_private_key(*key_pem);
  if (!key) return invalid(given.private_key, "holds no readable private key");

  auto certificate = std::make_shared<ServerCertificate>();
  certificate->leaf = std::move(chain.front());
  certificate->key = std::move(*key);
  if (!has_key(*certificate->leaf, *certificate->key)) {
    return invalid(given.private_key, "does not belong to " + given.certificate.string());
  }
  // A self-signed server certificate made by a plain `openssl req -x509` says CA:TRUE too, but it names a host.
  const bool names_a_host = X509_get_ext_by_NID(certificate->leaf.get(), NID_subject_alt_name, -1) >= 0;
  if (is_authority(*certificate->leaf) && !names_a_host)
    return invalid(given.certificate, "is a CA certificate, not a server's");
  certificate->not_before = not_before(*certificate->leaf);
  certificate->not_after = not_after(*certificate->leaf);
  certificate->renew_after = certificate->not_after;
  if (now >= certificate->not_after) {
    return invalid(given.certificate, "ended at " + format_utc(certificate->not_after));
  }
  certificate->chain.reset(sk_X509_new_null());
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (sk_X509_push(certificate->chain.get(), chain[i].get()) > 0) [[maybe_unused]]
      X509* owned = chain[i].release();
  }
  return std::shared_ptr<const ServerCertificate>(std::move(certificate));
}

}  // namespace hedge::certs
