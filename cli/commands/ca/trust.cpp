// hedge ca trust and hedge ca untrust: our root into, or out of, the stores of this machine. Neither ever
// asks anything.
#include <algorithm>
#include <functional>
#include <map>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "certs/certificate.h"
#include "certs/trust_stores.h"
#include "cli/commands/commands.h"
#include "cli/local_authority.h"
#include "config/invoking_user.h"
#include "contract/errors.h"

namespace hedge::cli {
namespace {

using certs::TrustFinding;
using certs::TrustStore;

void declare_store_option(CLI::App& verb, certs::StoreSelection& selection) {
  static const std::map<std::string, certs::StoreSelection> kNames{{"all", certs::StoreSelection::all},
                                                                   {"system", certs::StoreSelection::system},
                                                                   {"nss", certs::StoreSelection::nss}};
  verb.add_option("--store", selection, "only this kind: all, system or nss")
      ->transform(CLI::CheckedTransformer(kNames))
      ->type_name("KIND");
}

// The system's store is root's, the others are the user's: under sudo each is changed as its owner.
std::vector<TrustFinding> change_each(Services& services, certs::StoreSelection selection,
                                      const std::function<TrustFinding(TrustStore&)>& change) {
  std::vector<TrustFinding> findings;
  for (const certs::StoreSelection kind : {certs::StoreSelection::system, certs::StoreSelection::nss}) {
    if (selection != certs::StoreSelection::all && selection != kind) continue;
    std::optional<config::RootAgain> root;
    if (kind == certs::StoreSelection::system) root.emplace();
    for (const auto& store : certs::find_trust_stores(services.environment(), kind, services.runner())) {
      findings.push_back(change(*store));
    }
  }
  return findings;
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

int report(Output& output, const std::string& command, const std::vector<TrustFinding>& findings,
           nlohmann::json root) {
  const bool right = std::all_of(findings.begin(), findings.end(), [](const TrustFinding& finding) {
    return certs::is_right(finding) || !finding.required;
  });
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

class CaTrustCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand(
        "trust", "make this machine's stores trust the local CA, which is made on demand");
    declare_store_option(*verb, selection_);
    verb->add_flag("--print", print_, "change nothing; print the commands that a person would run");
    return verb;
  }

  Result<int> run(Services& services) override {
    const auto authority = ensure_local_authority(services);
    if (!authority) return authority.error();
    const auto location = find_local_authority(services);
    if (!location) return location.error();
    const auto root = certs::load_trusted_root(*location);
    if (!root) return root.error();
    if (print_) return print_steps(services, *root);
    const auto findings =
        change_each(services, selection_, [&](TrustStore& store) { return store.install(*root); });
    return report(services.output(), "ca trust", findings, root_to_json(*authority->root, *location));
  }

 private:
  int print_steps(Services& services, const certs::TrustedRoot& root) const {
    std::vector<std::string> steps;
    for (const auto& store :
         certs::find_trust_stores(services.environment(), selection_, services.runner())) {
      for (std::string& step : store->manual_steps(root)) steps.push_back(std::move(step));
    }
    Output& output = services.output();
    if (output.json()) {
      output.object({{"command", "ca trust"}, {"ok", true}, {"exit_code", 0}, {"steps", steps}});
    } else {
      for (const std::string& step : steps) output.line(step);
    }
    return 0;
  }

  certs::StoreSelection selection_ = certs::StoreSelection::all;
  bool print_ = false;
};

class CaUntrustCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb =
        parent.add_subcommand("untrust", "take the roots of this installation out of this machine's stores");
    declare_store_option(*verb, selection_);
    return verb;
  }

  Result<int> run(Services& services) override {
    // By the tag of the directory, so that it works although the CA is gone or damaged.
    const auto location = find_local_authority(services);
    if (!location) return location.error();
    const std::string installation = certs::installation_id(location->directory);
    const auto findings =
        change_each(services, selection_, [&](TrustStore& store) { return store.remove(installation); });
    return report(services.output(), "ca untrust", findings, nullptr);
  }

 private:
  certs::StoreSelection selection_ = certs::StoreSelection::all;
};

}  // namespace

std::unique_ptr<Command> make_ca_trust_command() {
  return std::make_unique<CaTrustCommand>();
}
std::unique_ptr<Command> make_ca_untrust_command() {
  return std::make_unique<CaUntrustCommand>();
}

}  // namespace hedge::cli
