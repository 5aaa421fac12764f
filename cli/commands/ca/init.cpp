// hedge ca init: makes the local CA, or says that it is there.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "certs/certificate.h"
#include "cli/commands/commands.h"
#include "cli/local_authority.h"

namespace hedge::cli {
namespace {

class CaInitCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    return parent.add_subcommand("init",
                                 "make the local CA if there is none; renew its intermediate if it is time");
  }

  Result<int> run(Services& services) override {
    const auto authority = ensure_local_authority(services);
    if (!authority) return authority.error();
    const auto location = find_local_authority(services);
    if (!location) return location.error();
    const auto suffixes = configured_suffixes(services);
    if (!suffixes) return suffixes.error();
    const auto warnings = warnings_about(*authority, *suffixes, services.clock().wall());
    Output& output = services.output();
    for (const Warning& warning : warnings) output.warn(warning.text);
    if (output.json()) {
      output.object({{"command", "ca init"},
                     {"ok", true},
                     {"root", root_to_json(*authority->root, *location)},
                     {"warnings", warnings_to_json(warnings)}});
      return 0;
    }
    output.line(certs::common_name(*authority->root));
    output.line("  sha256 " + certs::fingerprint(*authority->root));
    output.line("  until  " + format_utc(certs::not_after(*authority->root)));
    output.line("  file   " + location->root_certificate().string());
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_ca_init_command() {
  return std::make_unique<CaInitCommand>();
}

}  // namespace hedge::cli
