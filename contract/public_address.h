// Under which URL people reach a worktree: its hostname, and the port of the edge where that is not the usual one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "config/paths.h"
#include "config/project_config.h"

namespace hedge::contract {

// The port that the edge of this state directory listens on for https, now or when it last ran; 443 where it never ran.
std::uint16_t load_https_port(const config::Paths& paths);

// "https://shop.login.localhost", with the port if it is not 443.
std::string public_url(const std::string& host, std::uint16_t https_port);

// Whether every slug, and the main checkout, get a hostname from the configuration's templates.
// Errors: invalid_input `config_invalid`, with the place in the file.
Result<void> require_hostnames(const config::ProjectConfig& config);

}  // namespace hedge::contract
