#include "certs/trust_bundle.h"

#include <sys/stat.h>

#include "base/file.h"
#include "certs/certificate.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxBundle = 16UL << 20;

Result<std::string> public_roots(const std::vector<fs::path>& candidates) {
  for (const fs::path& candidate : candidates) {
    if (auto content = read_file(candidate, kMaxBundle)) return content;
  }
  return std::string();
}

// The public roots, then ours, once.
Result<std::string> combine(const std::string& public_pem, const X509& root) {
  const std::string own = fingerprint(root);
  std::string combined;
  for (const X509Ptr& certificate : parse_certificates(public_pem)) {
    if (fingerprint(*certificate) == own) continue;
    const auto block = certificate_pem(*certificate);
    if (!block) return block.error();
    combined += *block;
  }
  const auto block = certificate_pem(root);
  if (!block) return block.error();
  return combined + *block;
}

}  // namespace

std::vector<fs::path> public_bundles() {
  return {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
          "/etc/ssl/cert.pem"};
}

Result<TrustBundle> ensure_trust_bundle(const AuthorityLocation& location,
                                        const std::vector<fs::path>& candidates) {
  const auto root = load_root(location);
  if (!root) return root.error();
  TrustBundle bundle{location.root_certificate(), {}};
  const auto public_pem = public_roots(candidates);
  if (!public_pem) return public_pem.error();
  if (public_pem->empty()) return bundle;
  const auto combined = combine(*public_pem, **root);
  if (!combined) return combined.error();
  bundle.bundle = location.directory / "bundle.crt";
  const auto present = read_file(bundle.bundle, kMaxBundle);
  if (present && *present == *combined) return bundle;
  if (auto written = write_file_atomically(bundle.bundle, *combined, 0644); !written) return written.error();
  return bundle;
}

Environment trust_variables(const TrustBundle& bundle) {
  Environment variables{{"NODE_EXTRA_CA_CERTS", bundle.root.string()}, {"DENO_TLS_CA_STORE", "system"}};
  if (bundle.bundle.empty()) return variables;
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}) {
    variables.emplace(name, bundle.bundle.string());
  }
  return variables;
}

}  // namespace hedge::certs
