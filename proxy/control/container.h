// What the engine says about a container, and the address at which the edge reaches it. No I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/upstream/upstream_source.h"

namespace hedge::proxy {

struct ContainerNetwork {
  std::string name;
  std::string id;
  std::string ipv4;  // empty if it has none
  std::string ipv6;
};

struct PublishedPort {
  std::uint16_t container_port = 0;
  std::string host_ip;
  std::uint16_t host_port = 0;
};

struct Container {
  std::string id;
  std::string name;    // without the engine's leading slash
  std::string status;  // "running", "exited", "paused", "restarting", "created", "dead", "removing"
  std::string network_mode;
  std::vector<ContainerNetwork> networks;  // sorted by name: answers do not depend on the order of attachment
  std::vector<PublishedPort> published;    // TCP only
};

// Absent: not the JSON of GET /containers/{id}/json.
std::optional<Container> parse_container(std::string_view json);

// One line of GET /containers/json.
struct ContainerSummary {
  std::string id;
  std::string name;
  std::string status;
};
std::optional<std::vector<ContainerSummary>> parse_container_list(std::string_view json);

// Of several containers with the wanted labels only one may run. `selector` is for the messages.
std::variant<ContainerSummary, ProxyError> choose_container(const std::vector<ContainerSummary>& found,
                                                            std::string_view selector);

// Where the edge itself is.
struct EdgePlace {
  std::optional<std::string> configured_network;         // name, or id (at least 12 characters of it)
  std::optional<std::vector<std::string>> own_networks;  // ids; absent: the edge runs on a host
  // An interface of this host is in the address's network.
  std::function<bool(const std::string& ip)> is_connected;
  // The address of an engine on another machine. Its networks are not this host's, even where their addresses
  // look as if they were, and what it publishes is published there.
  std::optional<std::string> remote_engine;
};

// With a configured network: the address on it, nothing else. In a container: the one on a network of the
// edge's own, by id. On a host: an address in a connected network, else the published port. Of an engine on
// another machine: the published port there.
UpstreamAnswer choose_address(const Container& container, std::uint16_t port, const EdgePlace& place);

}  // namespace hedge::proxy
