// hedge edge run: the edge in the foreground, until SIGTERM or SIGINT.
#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/edge_options.h"
#include "cli/local_authority.h"
#include "proxy/run_edge.h"

namespace hedge::cli {
namespace {

class EdgeRunCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("run", "be the edge, in the foreground");
    declare_edge_options(*verb, options_);
    return verb;
  }

  Result<int> run(Services& services) override {
    auto settings = load_settings(options_, services);
    if (!settings) return settings.error();
    const auto paths = edge_paths(*settings, services);
    if (!paths) return paths.error();
    Output& output = services.output();
    for (const std::string& warning : settings->edge.warnings) output.warn(warning);
    prepare_authority(*settings, *paths, services);

    proxy::RunEdgeOptions edge;
    edge.settings = std::move(*settings);
    edge.reload = [this, &services] { return load_settings(options_, services); };
    edge.paths = *paths;
    edge.take_over = options_.takeover;
    edge.environment = services.environment();
    edge.docker_host = variable("DOCKER_HOST", services);
    // An empty one is as good as none, as for Docker's own client; DOCKER_CERT_PATH alone only names a directory.
    edge.is_docker_tls = !variable("DOCKER_TLS_VERIFY", services).empty() ||
                         !variable("DOCKER_TLS", services).empty();
    edge.standard_output = output.descriptor();
    edge.announce = [&output](const std::string& line) { output.progress(line); };
    if (auto served = proxy::run_edge(std::move(edge), services.clock()); !served) return served.error();
    return 0;
  }

 private:
  static std::string variable(const char* name, Services& services) {
    const auto found = services.environment().find(name);
    return found == services.environment().end() ? std::string() : found->second;
  }

  // Whatever is wrong with the CA, plain HTTP is served, and TLS as soon as it is mended.
  static void prepare_authority(const router::EdgeSettings& settings, const config::Paths& paths,
                                Services& services) {
    if (settings.edge.certificate) return;
    const auto authority = ensure_authority_of(paths, settings.edge.suffixes, services);
    if (!authority) {
      services.output().warn("no TLS until this is mended: " + authority.error().to_string());
      for (const std::string& hint : authority.error().hints()) services.output().warn(hint);
      return;
    }
    for (const Warning& warning :
         warnings_about(*authority, settings.edge.suffixes, services.clock().wall())) {
      services.output().warn(warning.text);
    }
  }

  EdgeOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_edge_run_command() {
  return std::make_unique<EdgeRunCommand>();
}

}  // namespace hedge::cli
