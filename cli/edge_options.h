// The options that `hedge edge run` and `hedge edge start` share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/services.h"
#include "router/edge_settings.h"

namespace CLI {
class App;
}

namespace hedge::cli {

struct EdgeOptions {
  std::string config;              // --config
  std::vector<std::string> http;   // --http, repeatable; "off": none
  std::vector<std::string> https;  // --https, repeatable; "off": none
  std::string control;             // --control
  std::optional<std::uint32_t> workers;
  bool takeover = false;  // --takeover
};

void declare_edge_options(CLI::App& verb, EdgeOptions& options);

// The settings file (--config, else the user-wide one, which need not exist) with the options put over it.
// Errors: `config_invalid`, `usage_error`; not_found, if the file of --config is not there.
Result<router::EdgeSettings> load_settings(const EdgeOptions& options, Services& services);

// Where this edge keeps its things: the settings' state_dir counts where the caller named none, and that of the user-wide file
// where a file of --config names none. The directories are made.
Result<config::Paths> edge_paths(const router::EdgeSettings& settings, Services& services);

// The same options as arguments for another `hedge edge run`; paths are absolute.
std::vector<std::string> as_arguments(const EdgeOptions& options, Services& services);

}  // namespace hedge::cli
