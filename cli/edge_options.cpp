#include "cli/edge_options.h"

#include <filesystem>

#include <CLI/CLI.hpp>

namespace hedge::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOff = "off";
constexpr std::uint32_t kMostWorkers = 64;

std::string absolute(const std::string& path) {
  std::error_code failure;
  const fs::path full = fs::absolute(path, failure);
  return failure ? path : full.lexically_normal().string();
}

Result<std::optional<std::vector<config::SocketAddress>>> addresses(const std::vector<std::string>& texts,
                                                                    const char* option) {
  using Addresses = std::vector<config::SocketAddress>;
  if (texts.empty()) return std::optional<Addresses>();
  Addresses found;
  if (texts.size() == 1 && texts.front() == kOff) return std::optional(found);
  for (const std::string& text : texts) {
    auto address = config::parse_socket_address(text);
    if (!address) return std::move(address).error().with_context(option).with_id("usage_error");
    found.push_back(std::move(*address));
  }
  return std::optional(std::move(found));
}

Result<void> override_addresses(const EdgeOptions& options, config::EdgeConfig& edge) {
  auto http = addresses(options.http, "--http");
  if (!http) return http.error();
  auto https = addresses(options.https, "--https");
  if (!https) return https.error();
  // As in the file: whoever names only one kind wants no other.
  const bool only_http = *http && !*https;
  const bool only_https = *https && !*http;
  if (*http || only_https) edge.http = http->value_or(std::vector<config::SocketAddress>());
  if (*https || only_http) edge.https = https->value_or(std::vector<config::SocketAddress>());
  return {};
}

}  // namespace

void declare_edge_options(CLI::App& verb, EdgeOptions& options) {
  verb.add_option("--config", options.config, "the settings file")->type_name("FILE");
  verb.add_option("--http", options.http, "listen here for plain HTTP; repeatable; \"off\" for nowhere")
      ->type_name("ADDR:PORT");
  verb.add_option("--https", options.https, "listen here for TLS; repeatable; \"off\" for nowhere")
      ->type_name("ADDR:PORT");
  verb.add_option("--control", options.control, "the control socket")->type_name("PATH");
  verb.add_option("--workers", options.workers, "threads that serve requests")
      ->type_name("N")
      ->check(CLI::Range(std::uint32_t{1}, kMostWorkers));
  verb.add_flag("--takeover", options.takeover,
                "take the place of the edge that runs, without a refused connection");
}

Result<router::EdgeSettings> load_settings(const EdgeOptions& options, Services& services) {
  const auto paths = services.paths();
  if (!paths) return paths.error();
  const bool named = !options.config.empty();
  auto settings = router::load_edge_settings(named ? fs::path(options.config) : paths->config);
  if (!settings && !named && settings.error().kind() == ErrorKind::not_found)
    settings = router::EdgeSettings();
  if (!settings) return settings.error();
  if (auto done = override_addresses(options, settings->edge); !done) return done.error();
  if (!options.control.empty()) settings->edge.control = absolute(options.control);
  if (options.workers) settings->edge.workers = options.workers;
  return settings;
}

Result<config::Paths> edge_paths(const router::EdgeSettings& settings, Services& services) {
  const bool named = services.options().state_dir || services.environment().contains("HEDGE_STATE_DIR");
  if (named || !settings.edge.state_dir) return services.writable_paths();
  auto paths = config::find_paths(settings.edge.state_dir, services.environment());
  if (!paths) return paths;
  if (auto made = config::ensure_paths(*paths); !made) return made.error();
  return paths;
}

std::vector<std::string> as_arguments(const EdgeOptions& options, Services& services) {
  std::vector<std::string> arguments;
  const auto add = [&](const char* name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  if (const auto& state = services.options().state_dir) add("--state-dir", absolute(state->string()));
  for (int i = 0; i < services.options().verbosity; ++i) arguments.emplace_back("-v");
  arguments.insert(arguments.end(), {"edge", "run"});
  if (!options.config.empty()) add("--config", absolute(options.config));
  for (const std::string& address : options.http) add("--http", address);
  for (const std::string& address : options.https) add("--https", address);
  if (!options.control.empty()) add("--control", absolute(options.control));
  if (options.workers) add("--workers", std::to_string(*options.workers));
  if (options.takeover) arguments.emplace_back("--takeover");
  return arguments;
}

}  // namespace hedge::cli
