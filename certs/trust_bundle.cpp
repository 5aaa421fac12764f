#include "certs/trust_bundle.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "certs/authority_rotation.h"
#include "certs/certificate.h"
#include "certs/java_trust_file.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxBundle = 16UL << 20;

// Empty: this system has none.
fs::path public_bundle(const std::vector<fs::path>& candidates) {
  const auto found = std::find_if(candidates.begin(), candidates.end(), path_exists);
  return found == candidates.end() ? fs::path() : *found;
}

// The root of the CA, and that of the CA that is to replace it, or was replaced just now.
Result<std::vector<X509Ptr>> own_roots(const AuthorityLocation& location) {
  std::vector<X509Ptr> roots;
  auto root = load_root(location);
  if (!root) return root.error();
  roots.push_back(std::move(*root));
  if (auto other = load_root(successor_location(location))) roots.push_back(std::move(*other));
  return roots;
}

Result<std::vector<X509Ptr>> public_roots(const fs::path& file, const std::vector<X509Ptr>& own) {
  const auto content = read_file(file, kMaxBundle);
  if (!content) return content.error();
  std::vector<X509Ptr> roots = parse_certificates(*content);
  std::erase_if(roots, [&own](const X509Ptr& root) {
    const std::string print = fingerprint(*root);
    return std::any_of(own.begin(), own.end(),
                       [&print](const X509Ptr& one) { return fingerprint(*one) == print; });
  });
  return roots;
}

Result<std::string> to_pem(const std::vector<const X509*>& roots) {
  std::string out;
  for (const X509* root : roots) {
    const auto block = certificate_pem(*root);
    if (!block) return block.error();
    out += *block;
  }
  return out;
}

Result<void> write_if_different(const fs::path& file, const Result<std::string>& wanted) {
  if (!wanted) return wanted.error();
  const auto present = read_file(file, kMaxBundle);
  if (present && *present == *wanted) return {};
  auto written = write_file_atomically(file, *wanted, 0644);
  if (!written && written.error().kind() == ErrorKind::no_space)
    return std::move(written).error().with_id("disk_full");
  return written;
}

std::vector<const X509*> pointers(const std::vector<X509Ptr>& first, const std::vector<X509Ptr>& second) {
  std::vector<const X509*> all;
  for (const auto* roots : {&first, &second})
    for (const X509Ptr& root : *roots) all.push_back(root.get());
  return all;
}

// An option of the JVM ends at a space.
bool fits_into_an_option(const fs::path& path) {
  return path.native().find_first_of(" \t\"'") == std::string::npos;
}

}  // namespace

std::vector<fs::path> public_bundles() {
  return {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
          "/etc/ssl/cert.pem"};
}

TrustBundle find_trust_bundle(const AuthorityLocation& location, const std::vector<fs::path>& candidates) {
  TrustBundle bundle;
  bundle.directory = location.directory.parent_path() / "trust";
  bundle.root = bundle.directory / "root.crt";
  if (public_bundle(candidates).empty()) return bundle;
  bundle.bundle = bundle.directory / "bundle.crt";
  bundle.java = bundle.directory / "java.p12";
  return bundle;
}

Result<TrustBundle> ensure_trust_bundle(const AuthorityLocation& location,
                                        const std::vector<fs::path>& candidates) {
  const auto own = own_roots(location);
  if (!own) return own.error();
  TrustBundle bundle = find_trust_bundle(location, candidates);
  if (auto made = ensure_directory(bundle.directory, 0755); !made) return made.error();
  if (auto done = write_if_different(bundle.root, to_pem(pointers(*own, {}))); !done) return done.error();
  if (bundle.bundle.empty()) return bundle;
  const auto others = public_roots(public_bundle(candidates), *own);
  if (!others) return others.error();
  const std::vector<const X509*> all = pointers(*others, *own);
  if (auto done = write_if_different(bundle.bundle, to_pem(all)); !done) return done.error();
  if (auto done = write_if_different(bundle.java, java_trust_file(all)); !done) return done.error();
  return bundle;
}

Environment trust_variables(const TrustBundle& bundle) {
  Environment variables;
  for (const char* name : {"NODE_EXTRA_CA_CERTS", "DENO_CERT"}) variables.emplace(name, bundle.root.string());
  if (bundle.bundle.empty()) return variables;
  variables.emplace("DENO_TLS_CA_STORE", "system");  // which is SSL_CERT_FILE, where that is set
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}) {
    variables.emplace(name, bundle.bundle.string());
  }
  if (fits_into_an_option(bundle.java))
    variables.emplace("JAVA_TOOL_OPTIONS", "-Djavax.net.ssl.trustStore=" + bundle.java.string());
  return variables;
}

}  // namespace hedge::certs
