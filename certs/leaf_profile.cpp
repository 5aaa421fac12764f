#include "certs/leaf_profile.h"

#include <algorithm>

#include "certs/certificate.h"
#include "certs/certificate_builder.h"
#include "certs/key_pair.h"

namespace hedge::certs {
namespace {

// RFC 5280, ub-common-name. A longer host goes without: clients read the alternative names alone.
constexpr std::size_t kMaxCommonName = 64;

SubjectName subject_of(const LeafNames& names) {
  SubjectName subject;
  subject.organization = "Hedge development certificate";
  if (!names.dns.empty() && names.dns.front().size() <= kMaxCommonName)
    subject.common_name = names.dns.front();
  return subject;
}

}  // namespace

Result<Leaf> mint_leaf(const LeafNames& names, const Issuer& issuer, WallTime now) {
  const WallTime issuer_ends = not_after(*issuer.certificate);
  if (now >= issuer_ends || now < not_before(*issuer.certificate)) {
    return Error(ErrorKind::unavailable, "Hedge's own CA \"" + common_name(*issuer.certificate) +
                                             "\" is not valid now (until " + format_utc(issuer_ends) + ")")
        .with_id("ca_expired");
  }
  auto key = generate_key();
  if (!key) return key.error();
  CertificateBuilder builder(**key, subject_of(names),
                             std::max(now - kBackdating, not_before(*issuer.certificate)),
                             std::min(now + WallTime::duration(kLeafLife), issuer_ends));
  builder.end_entity();
  builder.alternative_names(names.dns, names.ip);
  auto certificate = builder.sign(issuer.certificate.get(), *issuer.key);
  if (!certificate) return certificate.error();
  return Leaf{std::move(*certificate), std::move(*key)};
}

}  // namespace hedge::certs
