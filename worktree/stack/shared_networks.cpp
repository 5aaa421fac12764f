#include "worktree/stack/shared_networks.h"

#include <algorithm>
#include <set>

namespace hedge::worktree {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_on(const ContainerFacts& container, const std::string& network, const NetworkNames& names) {
  const auto found = names.shared.find(container.service());
  return found != names.shared.end() && contains(found->second, network);
}

std::vector<std::string> aliases_of(const ContainerFacts& container, const NetworkNames& names) {
  const std::string service = container.service();
  const auto own = std::ranges::find(names.services, service, &ComposeService::name);
  if (own != names.services.end() && !own->aliases.empty()) return own->aliases;
  return {service + "." + names.alias};
}

Error bare(const std::string& what) { return Error(ErrorKind::conflict, what).with_id("network_alias_bare"); }

}  // namespace

std::map<std::string, Endpoint> wanted_endpoints(const ContainerFacts& container, const std::vector<ContainerFacts>& all,
                                                 const NetworkNames& names) {
  std::map<std::string, Endpoint> out;
  const std::string service = container.service();
  const auto own = std::ranges::find(names.services, service, &ComposeService::name);
  if (own != names.services.end() && !own->aliases.empty()) out[names.network].aliases = own->aliases;
  const auto shared = names.shared.find(service);
  if (shared == names.shared.end()) return out;
  for (const std::string& network : shared->second) {
    Endpoint& endpoint = out[network];
    endpoint.aliases = aliases_of(container, names);
    for (const ContainerFacts& other : all) {
      if (is_on(other, network, names)) endpoint.links.push_back(other.name + ":" + other.service());
    }
  }
  return out;
}

std::vector<Error> endpoint_problems(const ContainerFacts& container, const std::map<std::string, Endpoint>& wanted) {
  std::vector<Error> out;
  for (const auto& [network, endpoint] : wanted) {
    const auto attached = container.networks.find(network);
    if (attached == container.networks.end()) {
      out.push_back(Error(ErrorKind::conflict, container.name + " is not on the network " + network).with_id("stack_not_running"));
      continue;
    }
    for (const std::string& alias : attached->second.aliases) {
      if (contains(endpoint.aliases, alias)) continue;
      out.push_back(bare(container.name + " has the name " + alias + " on the network " + network + ", which others may have too"));
    }
    for (const std::string& link : endpoint.links) {
      if (contains(attached->second.links, link)) continue;
      out.push_back(bare(container.name + " may find somebody else under the name " + link.substr(link.rfind(':') + 1) +
                          " on the network " + network));
    }
  }
  return out;
}

Result<std::vector<Error>> find_clashes(DockerEngine& engine, const std::vector<ContainerFacts>& all, const NetworkNames& names) {
  std::map<std::string, std::set<std::string>> own_names;  // by network
  std::set<std::string> own_ids;
  for (const ContainerFacts& container : all) {
    own_ids.insert(container.id);
    for (const auto& [network, endpoint] : wanted_endpoints(container, all, names))
      own_names[network].insert(endpoint.aliases.begin(), endpoint.aliases.end());
  }
  std::vector<Error> out;
  for (const auto& [network, aliases] : own_names) {
    const auto present = engine.fetch_attached(network);
    if (!present) return present.error();
    for (const ContainerFacts& other : *present) {
      const auto endpoint = other.networks.find(network);
      if (own_ids.contains(other.id) || endpoint == other.networks.end()) continue;
      for (const std::string& alias : endpoint->second.aliases) {
        if (aliases.contains(alias))
          out.push_back(Error(ErrorKind::conflict, "container " + other.name + ", which is not of this worktree, has its name " +
                                                       alias + " on the network " + network)
                            .with_id("network_alias_taken")
                            .with_hint("docker network disconnect " + network + " " + other.name));
      }
    }
  }
  return out;
}

}  // namespace hedge::worktree
