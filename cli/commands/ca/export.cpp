// hedge ca export: the root's certificate, and nothing else, as PEM.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "certs/certificate.h"
#include "cli/commands/commands.h"
#include "cli/local_authority.h"

namespace hedge::cli {
namespace {

class CaExportCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    return parent.add_subcommand("export",
                                 "print the root certificate, for a program or a device that reads no store");
  }

  Result<int> run(Services& services) override {
    const auto location = find_local_authority(services);
    if (!location) return location.error();
    const auto root = certs::load_root(*location);
    if (!root) return root.error();
    const auto pem = certs::certificate_pem(**root);
    if (!pem) return pem.error();
    Output& output = services.output();
    if (output.json()) {
      nlohmann::json told = root_to_json(**root, *location);
      told["pem"] = *pem;
      output.object({{"command", "ca export"}, {"ok", true}, {"root", told}});
    } else {
      output.text(*pem);
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_ca_export_command() {
  return std::make_unique<CaExportCommand>();
}

}  // namespace hedge::cli
