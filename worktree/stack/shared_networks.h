// Under which names containers are found on networks that several stacks share. Compose gives every service its bare name
// there, so that the `db` of two worktrees would answer in turns; Hedge attaches its containers itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/stack/docker_engine.h"

namespace hedge::worktree {

using SharedNetworks = std::map<std::string, std::vector<std::string>>;  // by service: the external networks that it is on

struct ComposeService {
  std::string name;
  std::uint16_t port = 0;            // inside its container
  std::vector<std::string> aliases;  // on shared networks; unique on this machine
};

struct NetworkNames {
  std::vector<ComposeService> services;  // the application's
  std::string network;                   // shared with the edge: services with aliases are on it
  std::string alias;                     // the worktree's own; other services are found below it
  SharedNetworks shared;
};

// What `container`, one of `all` containers of its stack, is to be attached to, by network. Bare names of the stack's own
// services lead to exactly those: links outrank whatever else answers to them.
std::map<std::string, Endpoint> wanted_endpoints(const ContainerFacts& container, const std::vector<ContainerFacts>& all,
                                                 const NetworkNames& names);

// How `container` is attached otherwise: not at all (`stack_not_running`); under a name that others may have, or without a
// link to its own stack (`network_alias_bare`).
std::vector<Error> endpoint_problems(const ContainerFacts& container, const std::map<std::string, Endpoint>& wanted);

// `network_alias_taken`, for each name on a network of `wanted` that also somebody else's container has there.
Result<std::vector<Error>> find_clashes(DockerEngine& engine, const std::vector<ContainerFacts>& all, const NetworkNames& names);

}  // namespace hedge::worktree
