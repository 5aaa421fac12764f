#include "cli/trust_changes.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/invoking_user.h"
#include "contract/errors.h"

namespace hedge::cli {

using certs::TrustFinding;

void for_each_store(Services& services, std::optional<certs::StoreKind> kind,
                    const std::function<void(certs::TrustStore&)>& visit) {
  for (const certs::StoreKind one : certs::kStoreKinds) {
    if (kind && *kind != one) continue;
    std::optional<config::RootAgain> root;
    if (certs::is_the_systems(services.environment(), one)) root.emplace();
    for (const auto& store : certs::find_trust_stores(services.environment(), one, services.runner()))
      visit(*store);
  }
}

std::vector<TrustFinding> change_each(Services& services, std::optional<certs::StoreKind> kind,
                                      const std::function<TrustFinding(certs::TrustStore&)>& change) {
  std::vector<TrustFinding> findings;
  for_each_store(services, kind, [&](certs::TrustStore& store) { findings.push_back(change(store)); });
  return findings;
}

bool all_right(const std::vector<TrustFinding>& findings) {
  return std::all_of(findings.begin(), findings.end(), [](const TrustFinding& finding) {
    return certs::is_right(finding) || !finding.required;
  });
}

std::vector<Warning> warnings_of(const std::vector<TrustFinding>& findings) {
  std::vector<Warning> warnings;
  for (const TrustFinding& finding : findings) {
    if (certs::is_right(finding)) continue;
    std::string text = finding.store + ": " + std::string(certs::to_string(finding.status));
    if (!finding.detail.empty()) text += " (" + finding.detail + ")";
    warnings.push_back({finding.error.empty() ? "ca_untrusted" : finding.error, text, finding.command});
  }
  return warnings;
}

int report_trust(Output& output, const std::string& command, const std::vector<TrustFinding>& findings,
                 nlohmann::json root) {
  const bool right = all_right(findings);
  const contract::ExitCode code = right ? contract::ExitCode::ok : contract::ExitCode::failed;
  if (output.json()) {
    nlohmann::json stores = nlohmann::json::array();
    for (const TrustFinding& finding : findings) stores.push_back(finding_to_json(finding));
    output.object({{"command", command},
                   {"ok", right},
                   {"exit_code", contract::to_int(code)},
                   {"root", std::move(root)},
                   {"stores", stores},
                   {"warnings", warnings_to_json(warnings_of(findings))}});
  } else {
    print_findings(output, findings);
  }
  return contract::to_int(code);
}

}  // namespace hedge::cli
