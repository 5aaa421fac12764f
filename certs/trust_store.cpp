#include "certs/trust_store.h"

#include <algorithm>

#include "base/text.h"
#include "certs/certificate.h"

namespace hedge::certs {
namespace {

bool is_plain(char c) {
  return is_ascii_alnum(c) || std::string_view("-_./:=,+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string_view to_string(TrustStatus status) {
  switch (status) {
    case TrustStatus::trusted:
      return "trusted";
    case TrustStatus::installed:
      return "installed";
    case TrustStatus::removed:
      return "removed";
    case TrustStatus::absent:
      return "absent";
    case TrustStatus::skipped:
      return "skipped";
    case TrustStatus::needs_root:
      return "needs_root";
    case TrustStatus::failed:
      return "failed";
  }
  return "failed";
}

bool is_right(const TrustFinding& finding) {
  switch (finding.status) {
    case TrustStatus::trusted:
    case TrustStatus::installed:
    case TrustStatus::removed:
      return true;
    case TrustStatus::skipped:
      return !finding.required;
    case TrustStatus::absent:
    case TrustStatus::needs_root:
    case TrustStatus::failed:
      return false;
  }
  return false;
}

Result<TrustedRoot> load_trusted_root(const AuthorityLocation& location) {
  const auto root = load_root(location);
  if (!root) return root.error();
  auto pem = certificate_pem(**root);
  if (!pem) return pem.error();
  return TrustedRoot{location.root_certificate(), std::move(*pem), fingerprint(**root),
                     installation_id(location.directory)};
}

std::string shell_line(const std::vector<std::string>& argv) {
  std::vector<std::string> words;
  for (const std::string& argument : argv) {
    const bool plain = !argument.empty() && std::all_of(argument.begin(), argument.end(), is_plain);
    words.push_back(plain ? argument : "'" + replace_all(argument, "'", "'\\''") + "'");
  }
  return join(words, " ");
}

}  // namespace hedge::certs
