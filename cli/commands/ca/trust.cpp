// hedge ca trust and hedge ca untrust: our root into, or out of, the stores of this machine. Neither ever
// asks anything.
#include <map>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "certs/certificate.h"
#include "certs/trust_bundle.h"
#include "certs/trust_stores.h"
#include "cli/commands/commands.h"
#include "cli/local_authority.h"
#include "cli/trust_changes.h"

namespace hedge::cli {
namespace {

using certs::TrustStore;

void declare_store_option(CLI::App& verb, std::optional<certs::StoreKind>& selection) {
  static const std::map<std::string, std::optional<certs::StoreKind>> kNames{
      {"all", std::nullopt},
      {"system", certs::StoreKind::system},
      {"nss", certs::StoreKind::nss},
      {"firefox", certs::StoreKind::firefox},
      {"java", certs::StoreKind::java}};
  verb.add_option_function<std::string>(
          "--store", [&selection](const std::string& name) { selection = kNames.at(name); },
          "only this kind: all, system, nss, firefox or java")
      ->check(CLI::IsMember({"all", "system", "nss", "firefox", "java"}))
      ->type_name("KIND");
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
    // Programs that read no store are told where these are.
    if (auto bundle = certs::ensure_trust_bundle(*location, certs::public_bundles()); !bundle)
      return bundle.error();
    const auto findings =
        change_each(services, selection_, [&](TrustStore& store) { return store.install(*root); });
    return report_trust(services.output(), "ca trust", findings, root_to_json(*authority->root, *location));
  }

 private:
  int print_steps(Services& services, const certs::TrustedRoot& root) const {
    std::vector<std::string> steps;
    for_each_store(services, selection_, [&](TrustStore& store) {
      for (std::string& step : store.manual_steps(root)) steps.push_back(std::move(step));
    });
    Output& output = services.output();
    if (output.json()) {
      output.object({{"command", "ca trust"}, {"ok", true}, {"exit_code", 0}, {"steps", steps}});
    } else {
      for (const std::string& step : steps) output.line(step);
    }
    return 0;
  }

  std::optional<certs::StoreKind> selection_;
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
    return report_trust(services.output(), "ca untrust", findings, nullptr);
  }

 private:
  std::optional<certs::StoreKind> selection_;
};

}  // namespace

std::unique_ptr<Command> make_ca_trust_command() {
  return std::make_unique<CaTrustCommand>();
}
std::unique_ptr<Command> make_ca_untrust_command() {
  return std::make_unique<CaUntrustCommand>();
}

}  // namespace hedge::cli
