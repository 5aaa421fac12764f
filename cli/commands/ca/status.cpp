// hedge ca status: the CA, and store by store whether it is trusted.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "certs/certificate.h"
#include "certs/trust_stores.h"
#include "cli/commands/commands.h"
#include "cli/local_authority.h"
#include "contract/errors.h"

namespace hedge::cli {
namespace {

class CaStatusCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    return parent.add_subcommand("status", "the local CA, and which stores of this machine trust it");
  }

  Result<int> run(Services& services) override {
    const auto location = find_local_authority(services);
    if (!location) return location.error();
    const auto authority = certs::load_authority(*location, services.clock().wall());
    if (!authority) return authority.error();
    const auto root = certs::load_trusted_root(*location);
    if (!root) return root.error();
    const auto suffixes = configured_suffixes(services);
    if (!suffixes) return suffixes.error();
    std::vector<certs::TrustFinding> findings;
    for (const auto& store : certs::find_trust_stores(services.environment(), services.runner())) {
      findings.push_back(store->check(*root));
    }
    const auto warnings = warnings_about(*authority, *suffixes, services.clock().wall());
    const bool right = std::all_of(findings.begin(), findings.end(), [](const auto& finding) {
      return certs::is_right(finding) || !finding.required;
    });
    print(services.output(), *authority, *location, findings, warnings, right);
    return contract::to_int(right ? contract::ExitCode::ok : contract::ExitCode::incomplete);
  }

 private:
  static void print(Output& output, const certs::Authority& authority,
                    const certs::AuthorityLocation& location,
                    const std::vector<certs::TrustFinding>& findings, const std::vector<Warning>& warnings,
                    bool right) {
    for (const Warning& warning : warnings) output.warn(warning.text);
    if (output.json()) {
      nlohmann::json stores = nlohmann::json::array();
      for (const certs::TrustFinding& finding : findings) stores.push_back(finding_to_json(finding));
      output.object({{"command", "ca status"},
                     {"ok", right},
                     {"root", root_to_json(*authority.root, location)},
                     {"intermediate",
                      {{"fingerprint", authority.intermediate.fingerprint},
                       {"not_after", format_utc(certs::not_after(*authority.intermediate.certificate))}}},
                     {"stores", stores},
                     {"warnings", warnings_to_json(warnings)}});
      return;
    }
    output.line(certs::common_name(*authority.root));
    output.line("  sha256 " + certs::fingerprint(*authority.root));
    output.line("  root until         " + format_utc(certs::not_after(*authority.root)));
    output.line("  intermediate until " + format_utc(certs::not_after(*authority.intermediate.certificate)));
    print_findings(output, findings);
    if (!right) output.line("next: hedge ca trust");
  }
};

}  // namespace

std::unique_ptr<Command> make_ca_status_command() {
  return std::make_unique<CaStatusCommand>();
}

}  // namespace hedge::cli
