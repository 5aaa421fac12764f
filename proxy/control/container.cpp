#include "proxy/control/container.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hedge::proxy {
namespace {

using nlohmann::json;

constexpr std::size_t kShortestIdPrefix = 12;  // what `docker ps` prints

const json& member(const json& value, const char* name) {
  static const json kNothing;
  if (!value.is_object()) return kNothing;
  const auto found = value.find(name);
  return found == value.end() ? kNothing : *found;
}

std::string text(const json& value, const char* name) {
  const json& found = member(value, name);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::string without_slash(std::string name) {
  if (name.starts_with('/')) name.erase(0, 1);
  return name;
}

std::vector<ContainerNetwork> networks_of(const json& settings) {
  std::vector<ContainerNetwork> out;
  const json& networks = member(settings, "Networks");
  if (!networks.is_object()) return out;
  for (const auto& [name, network] : networks.items()) {
    out.push_back(
        {name, text(network, "NetworkID"), text(network, "IPAddress"), text(network, "GlobalIPv6Address")});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

// "8000/tcp": [{"HostIp": "0.0.0.0", "HostPort": "32768"}], or null where a port is exposed only.
std::vector<PublishedPort> published_of(const json& settings) {
  std::vector<PublishedPort> out;
  const json& ports = member(settings, "Ports");
  if (!ports.is_object()) return out;
  for (const auto& [key, bindings] : ports.items()) {
    if (!key.ends_with("/tcp") || !bindings.is_array()) continue;
    const auto container_port = parse_number<std::uint16_t>(std::string_view(key).substr(0, key.size() - 4));
    for (const json& binding : bindings) {
      const auto host_port = parse_number<std::uint16_t>(text(binding, "HostPort"));
      if (container_port && host_port) out.push_back({*container_port, text(binding, "HostIp"), *host_port});
    }
  }
  return out;
}

ProxyError stopped(const std::string& name, const std::string& status) {
  const bool is_paused = status == "paused";
  return {ProxyReason::container_stopped,
          "container " + printable(name) + " is not running (" + printable(status) + ")",
          is_paused ? "docker unpause " + name : "docker start " + name};
}

// The addresses as endpoints, with the container's identity.
UpstreamAnswer answer(const Container& container, std::uint16_t port,
                      const std::vector<std::pair<std::string, std::uint16_t>>& addresses) {
  ResolvedUpstream out;
  out.identity = container.id + ":" + std::to_string(port);
  for (const auto& [ip, number] : addresses) {
    if (ip.empty()) continue;
    if (auto endpoint = Endpoint::from_ip(ip, number)) out.endpoints.push_back(*endpoint);
  }
  if (out.endpoints.empty()) {
    return ProxyError{ProxyReason::upstream_off_network,
                      "container " + printable(container.name) + " has no address", ""};
  }
  out.description = "container " + container.name + " (" + out.endpoints.front().to_string() + ")";
  return std::make_shared<const ResolvedUpstream>(std::move(out));
}

UpstreamAnswer answer_on(const Container& container, std::uint16_t port, const ContainerNetwork& network) {
  return answer(container, port, {{network.ipv4, port}, {network.ipv6, port}});
}

std::string names_of(const std::vector<ContainerNetwork>& networks) {
  std::vector<std::string> names;
  for (const ContainerNetwork& network : networks) names.push_back(printable(network.name));
  return names.empty() ? "none" : join(names, ", ");
}

UpstreamAnswer on_configured_network(const Container& container, std::uint16_t port,
                                     const std::string& wanted) {
  for (const ContainerNetwork& network : container.networks) {
    const bool is_id = wanted.size() >= kShortestIdPrefix && network.id.starts_with(wanted);
    if (network.name == wanted || is_id) return answer_on(container, port, network);
  }
  return ProxyError{ProxyReason::upstream_off_network,
                    "container " + printable(container.name) + " is not on the edge network " +
                        printable(wanted) + " (its networks: " + names_of(container.networks) + ")",
                    "docker network connect " + wanted + " " + container.name};
}

UpstreamAnswer on_own_network(const Container& container, std::uint16_t port,
                              const std::vector<std::string>& own) {
  for (const ContainerNetwork& network : container.networks) {
    const bool is_own = std::find(own.begin(), own.end(), network.id) != own.end();
    if (is_own && !network.id.empty()) return answer_on(container, port, network);
  }
  return ProxyError{
      ProxyReason::upstream_off_network,
      "container " + printable(container.name) + " is not on a network of the edge's container (its " +
          "networks: " + names_of(container.networks) + ")",
      "connect both to one network with `docker network connect NETWORK " + container.name + "`"};
}

bool is_any_address(std::string_view ip) {
  return ip.empty() || ip == "0.0.0.0" || ip == "::";
}

bool is_loopback(std::string_view ip) {
  return ip.starts_with("127.") || ip == "::1";
}

using Addresses = std::vector<std::pair<std::string, std::uint16_t>>;

// On this machine.
Addresses published_here(const Container& container, std::uint16_t port) {
  Addresses out;
  for (const PublishedPort& published : container.published) {
    if (published.container_port != port) continue;
    std::string ip = published.host_ip;
    if (is_any_address(ip)) ip = ip == "::" ? "::1" : "127.0.0.1";
    out.emplace_back(std::move(ip), published.host_port);
  }
  return out;
}

// On the machine of the engine at `engine`: what is published on its loopback alone is not reached.
Addresses published_there(const Container& container, std::uint16_t port, const std::string& engine) {
  Addresses out;
  for (const PublishedPort& published : container.published) {
    if (published.container_port != port || is_loopback(published.host_ip)) continue;
    std::pair<std::string, std::uint16_t> address(
        is_any_address(published.host_ip) ? engine : published.host_ip, published.host_port);
    // Both families' "any" are the one address.
    if (std::find(out.begin(), out.end(), address) == out.end()) out.push_back(std::move(address));
  }
  return out;
}

UpstreamAnswer on_other_machine(const Container& container, std::uint16_t port, const std::string& engine) {
  if (container.network_mode == "host") return answer(container, port, {{engine, port}});
  const Addresses addresses = published_there(container, port, engine);
  if (!addresses.empty()) return answer(container, port, addresses);
  const std::string number = std::to_string(port);
  return ProxyError{ProxyReason::upstream_off_network,
                    "container " + printable(container.name) + " runs on another machine (" +
                        printable(engine) + "), and its port " + number +
                        " is not published there for other machines",
                    "publish it: docker run --publish " + number + " …, or ports: [\"" + number +
                        "\"] in the Compose file"};
}

UpstreamAnswer on_host(const Container& container, std::uint16_t port, const EdgePlace& place) {
  if (place.remote_engine) return on_other_machine(container, port, *place.remote_engine);
  if (container.network_mode == "host") return answer(container, port, {{"127.0.0.1", port}, {"::1", port}});
  for (const ContainerNetwork& network : container.networks) {
    if (!network.ipv4.empty() && place.is_connected(network.ipv4)) return answer_on(container, port, network);
  }
  const Addresses addresses = published_here(container, port);
  if (!addresses.empty()) return answer(container, port, addresses);
  return ProxyError{ProxyReason::upstream_off_network,
                    "container " + printable(container.name) +
                        " is on no network that this host reaches (its " +
                        "networks: " + names_of(container.networks) + "), and port " + std::to_string(port) +
                        " is not published",
                    "docker network connect bridge " + container.name};
}

}  // namespace

std::optional<Container> parse_container(std::string_view document) {
  const json value = json::parse(document, nullptr, false);
  Container out;
  out.id = text(value, "Id");
  if (out.id.empty()) return std::nullopt;
  out.name = without_slash(text(value, "Name"));
  const json& state = member(value, "State");
  if (!state.is_object()) return std::nullopt;
  out.status = text(state, "Status");
  out.network_mode = text(member(value, "HostConfig"), "NetworkMode");
  const json& settings = member(value, "NetworkSettings");
  out.networks = networks_of(settings);
  out.published = published_of(settings);
  return out;
}

std::optional<std::vector<ContainerSummary>> parse_container_list(std::string_view document) {
  const json value = json::parse(document, nullptr, false);
  if (!value.is_array()) return std::nullopt;
  std::vector<ContainerSummary> out;
  for (const json& entry : value) {
    ContainerSummary summary{text(entry, "Id"), "", text(entry, "State")};
    if (summary.id.empty()) return std::nullopt;
    const json& names = member(entry, "Names");
    const bool has_name = names.is_array() && !names.empty() && names.front().is_string();
    summary.name =
        has_name ? without_slash(names.front().get<std::string>()) : summary.id.substr(0, kShortestIdPrefix);
    out.push_back(std::move(summary));
  }
  return out;
}

std::variant<ContainerSummary, ProxyError> choose_container(const std::vector<ContainerSummary>& found,
                                                            std::string_view selector) {
  std::vector<std::string> running;
  const ContainerSummary* chosen = nullptr;
  for (const ContainerSummary& summary : found) {
    if (summary.status != "running") continue;
    running.push_back(printable(summary.name));
    chosen = &summary;
  }
  if (running.size() > 1) {
    std::sort(running.begin(), running.end());
    return ProxyError{ProxyReason::upstream_ambiguous,
                      std::to_string(running.size()) + " running containers have the labels " +
                          printable(selector) + ": " + join(running, ", "),
                      "name one container in the route, or add a label that only one has"};
  }
  if (chosen != nullptr) return *chosen;
  if (!found.empty()) return stopped(found.front().name, found.front().status);
  return ProxyError{ProxyReason::upstream_unresolved, "no container has the labels " + printable(selector),
                    "docker ps --all"};
}

UpstreamAnswer choose_address(const Container& container, std::uint16_t port, const EdgePlace& place) {
  if (container.status != "running") return stopped(container.name, container.status);
  if (place.configured_network) return on_configured_network(container, port, *place.configured_network);
  if (place.own_networks) return on_own_network(container, port, *place.own_networks);
  return on_host(container, port, place);
}

}  // namespace hedge::proxy
