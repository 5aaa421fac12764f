// [edge] of the user-wide settings file.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/load.h"

namespace hedge::config {

// "127.0.0.1:8443" or "[::1]:0". Port 0: the system picks one, GET /v1/status tells which.
struct SocketAddress {
  std::string ip;  // IPv6 without brackets
  std::uint16_t port = 0;
  bool operator==(const SocketAddress&) const = default;
};
// The port may be left out where `default_port` is given. Errors: invalid_input, saying what is accepted.
Result<SocketAddress> parse_socket_address(std::string_view text,
                                           std::optional<std::uint16_t> default_port = {});
std::string to_string(const SocketAddress& address);

enum class CookieMode { narrow, pass };

struct EdgeConfig {
  // Where Hedge keeps worktrees, routes, the CA and its logs; every command follows the user-wide file. Outranked
  // by --state-dir and HEDGE_STATE_DIR. Default: XDG's.
  std::optional<std::filesystem::path> state_dir;
  // The control socket (0600). Default: edge.sock in the runtime directory. At most 107 bytes.
  std::optional<std::filesystem::path> control;
  // Threads that serve requests, 1 to 64. Default: one for each processor.
  std::optional<std::uint32_t> workers;
  // Addresses for plain HTTP. Default: 127.0.0.1 and ::1, port 80, else 8080. `http = []` listens on none.
  std::optional<std::vector<SocketAddress>> http;
  // Addresses for TLS. Default: 127.0.0.1 and ::1, port 443, else 8443. `https = []` listens on none.
  // A file that gives only one of `http` and `https` listens on that alone.
  std::optional<std::vector<SocketAddress>> https;
  // One PEM certificate chain for all names instead of Hedge's own CA, with its key. Both or none.
  std::optional<std::filesystem::path> certificate;
  std::optional<std::filesystem::path> private_key;
  // A file for one JSON line per request, "off" for none (absent here), "-" for standard output.
  // Default: logs/access.log in the state directory.
  std::optional<std::filesystem::path> access_log;
  bool access_log_off = false;
  // Name servers for `dns:` upstreams. Port 53 if left out. Default (empty): the system's.
  std::vector<SocketAddress> dns_servers;
  // How long an answer of a name server or the engine is reused, 0 to 1000 ms. Default: 1 s.
  std::chrono::milliseconds resolve_ttl{1000};
  // How long connecting to an upstream may take over all of its addresses, 1 ms to 60 s. Default: 2 s.
  std::chrono::milliseconds connect_timeout{2000};
  // "narrow": a Set-Cookie whose Domain is wider than the worktree's own host is narrowed to it. "pass": left
  // alone.
  CookieMode cookies = CookieMode::narrow;
  // Peers (address or network in CIDR form) whose X-Forwarded-* fields are believed. Default: none.
  std::vector<std::string> trusted_proxies;
  // Domains whose names this edge serves and issues certificates for. Default: localhost.
  std::vector<std::string> suffixes{"localhost"};
  // The Docker engine, "unix:///path" or "tcp://host:port". Default: DOCKER_HOST, else
  // unix:///var/run/docker.sock.
  std::optional<std::string> docker_host;
  // Name or id of the container network on which `docker:` upstreams are reached. Default: the edge's own
  // networks if it runs in a container, else any bridge network that this host has a route to.
  std::optional<std::string> network;

  // What is allowed but unwise, one line each, with its place in the file.
  std::vector<std::string> warnings;
};

// Reads [edge] of an open file. What is wrong becomes problems of the file, for TomlFile::finish() to tell;
// relative paths are taken from `directory`. The other half of the file, [[routes]], is the router's:
// router/edge_settings.h.
EdgeConfig read_edge_table(TomlFile& file, const std::filesystem::path& directory);

// `state_dir` of the file's [edge], for whoever needs nothing else of it: what else is wrong with the file does not
// matter. Absent: no file, or it names none. Errors: invalid_input `config_invalid`; permission; io.
Result<std::optional<std::filesystem::path>> load_state_dir(const std::filesystem::path& file);

// True if browsers insist on HTTPS for every name below (the whole top-level domain is in their HSTS preload
// lists), so that a plain-HTTP site there can never be opened.
bool is_https_only_domain(std::string_view domain);

}  // namespace hedge::config
