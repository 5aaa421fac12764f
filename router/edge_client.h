// The client of a running edge's control socket: what the manager and the command line ask and tell it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "router/route.h"

namespace hedge::router {

struct EdgeListener {
  std::string scheme;      // "http" or "https"
  std::string address;     // an IP literal, IPv6 without brackets
  std::uint16_t port = 0;  // the real one, also where 0 or a fallback was asked for
  bool operator==(const EdgeListener&) const = default;
};

// What GET /v1/status says.
struct EdgeStatus {
  std::int64_t pid = 0;
  std::string version;
  std::string state_directory;
  std::chrono::seconds uptime{0};
  std::uint32_t workers = 0;
  std::uint64_t connections = 0;  // open ones of clients, now
  std::uint64_t routes = 0;
  std::vector<EdgeListener> listeners;
  std::vector<std::string> warnings;  // unreadable records, shadowed routes, an engine that does not answer
  bool operator==(const EdgeStatus&) const = default;
};

enum class PokeResult { delivered, edge_is_down };

// Stateless: each call is one connection. Copies are cheap and may be used by any thread.
class EdgeClient {
 public:
  explicit EdgeClient(std::filesystem::path control_socket,
                      std::chrono::milliseconds limit = std::chrono::seconds(2));

  // Errors (of every call): unavailable `edge_not_running`; permission; timed_out and io `edge_unresponsive`.
  Result<EdgeStatus> fetch_status() const;
  // Every route that the edge answers now, static ones included.
  Result<std::vector<Route>> fetch_routes() const;
  // True if `host` (canonical) is a route of the edge's settings file, which hides one of the store.
  Result<bool> fetch_is_static(const std::string& host) const;
  // Makes the edge look at the route store at once. An edge that is down will read it when it starts: not an
  // error. The store was written before: whatever happens here, a running edge sees the change within a
  // second.
  Result<PokeResult> poke() const;

 private:
  std::filesystem::path control_socket_;
  std::chrono::milliseconds limit_;
};

// Where the edge of a state directory listens for control: what it noted in `state/edge-control` when it
// started with a socket of its own choice, else `standard`.
std::filesystem::path find_control_socket(const std::filesystem::path& state,
                                          const std::filesystem::path& standard);
// Written by the edge when it starts, and taken away when it ends.
Result<void> note_control_socket(const std::filesystem::path& state, const std::filesystem::path& socket);
Result<void> forget_control_socket(const std::filesystem::path& state);

// Held by the state directory's edge as long as it lives, whatever becomes of its control socket.
std::filesystem::path edge_lock(const std::filesystem::path& state);
// For a command to which the control socket answered `edge_not_running`: success if that is so. Waits at most
// `limit` for an edge that is just ending.
// Errors: `edge_unresponsive`, with the process in its hints where the kernel tells it, if an edge lives.
Result<void> require_no_edge(const std::filesystem::path& state, std::chrono::milliseconds limit);

}  // namespace hedge::router
