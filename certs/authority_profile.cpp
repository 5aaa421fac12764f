#include "certs/authority_profile.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "certs/certificate.h"
#include "certs/certificate_builder.h"
#include "certs/leaf_profile.h"

namespace hedge::certs {
namespace {

constexpr std::string_view kOrganization = "Hedge";
constexpr int kRootPathLength = 1;
constexpr int kIntermediatePathLength = 0;
// "Hedge intermediate CA <host> <8 characters>" within the 64 bytes of a common name.
constexpr std::size_t kMaxHostInName = 32;

std::string short_id() {
  return to_base32(random_bytes(5));
}

// A machine's name may hold anything; a distinguished name gets letters, digits, dots and hyphens.
std::string host_for_name(std::string_view host) {
  std::string out;
  for (const char c : host.substr(0, kMaxHostInName)) {
    out += is_ascii_alnum(c) || c == '.' || c == '-' ? c : '-';
  }
  return out.empty() ? "localhost" : out;
}

}  // namespace

std::vector<std::string> default_suffixes() {
  return {"localhost", "test", "internal"};
}

std::vector<std::string> authority_suffixes(const std::vector<std::string>& configured) {
  std::vector<std::string> suffixes = default_suffixes();
  for (const std::string& suffix : configured) {
    if (std::find(suffixes.begin(), suffixes.end(), suffix) == suffixes.end()) suffixes.push_back(suffix);
  }
  return suffixes;
}

std::string root_common_name(std::string_view host, std::string_view id) {
  return "Hedge local CA " + host_for_name(host) + " " + std::string(id);
}

Result<X509Ptr> make_root(EVP_PKEY& key, const AuthorityIdentity& identity,
                          const std::vector<std::string>& suffixes, WallTime now) {
  SubjectName subject;
  subject.organization = kOrganization;
  subject.organizational_unit = identity.installation;
  subject.common_name = root_common_name(identity.host, short_id());
  CertificateBuilder builder(key, subject, now - kBackdating, now + WallTime::duration(kRootLife));
  builder.authority(kRootPathLength);
  builder.permit_only(suffixes);
  return builder.sign(nullptr, key);
}

Result<X509Ptr> make_intermediate(EVP_PKEY& key, const X509& root, EVP_PKEY& root_key, WallTime now) {
  SubjectName subject;
  subject.organization = kOrganization;
  subject.organizational_unit = organizational_unit(root);
  // The root's own words, so that a person sees which root it belongs to.
  const std::string root_name = common_name(root);
  const std::string host_and_id =
      root_name.substr(std::min(root_name.size(), std::string_view("Hedge local CA ").size()));
  const std::string host = host_and_id.substr(0, host_and_id.rfind(' '));
  subject.common_name = "Hedge intermediate CA " + host + " " + short_id();
  CertificateBuilder builder(key, subject, std::max(now - kBackdating, not_before(root)),
                             std::min(now + WallTime::duration(kIntermediateLife), not_after(root)));
  builder.authority(kIntermediatePathLength);
  builder.permit_as(root);
  return builder.sign(&root, root_key);
}

}  // namespace hedge::certs
