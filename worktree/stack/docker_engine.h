// The container engine's API, as far as stacks need it: what is labelled ours, and ending exactly that.
#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "worktree/stack/engine_probe.h"

namespace hedge::worktree {

using Labels = std::map<std::string, std::string>;

// How a container is attached to one network.
struct Endpoint {
  std::vector<std::string> aliases;  // names under which others find it
  std::vector<std::string> links;    // "CONTAINER:NAME": under NAME it finds that container, whoever else has the name
};

struct ContainerFacts {
  std::string id;
  std::string name;   // without the leading slash
  std::string state;  // created, running, exited, …
  int exit_code = 0;
  Labels labels;
  std::map<std::string, Endpoint> networks;  // by name, as was asked for
  Environment environment;      // what its command is started with; passwords are in it
  std::string service() const;  // Compose's name of the service, or empty
  bool is_running() const { return state == "running" || state == "restarting"; }
};

class DockerEngine {
 public:
  // Speaks the engine's newest version that is known here; nothing older than 1.40 is supported.
  // Errors: unsupported `engine_unsupported`.
  static Result<DockerEngine> connect(const EngineFacts& facts);

  // All containers, running or not, that have every one of `labels` (an empty value: any value).
  Result<std::vector<ContainerFacts>> fetch_containers(const Labels& labels);
  // All containers, running or not, that are to be on the network.
  Result<std::vector<ContainerFacts>> fetch_attached(const std::string& network);
  // SIGTERM, and after `grace` SIGKILL. Idempotent.
  Result<void> stop_container(std::string_view id, std::chrono::seconds grace);
  // With its anonymous volumes. The absent one is success.
  Result<void> remove_container(std::string_view id);

  Result<std::vector<std::string>> fetch_networks(const Labels& labels);  // ids
  Result<std::vector<std::string>> fetch_volumes(const Labels& labels);   // names
  // The absent one is success. Errors: conflict, if something still uses it.
  Result<void> remove_network(std::string_view id);
  Result<void> remove_volume(std::string_view name);

  Result<bool> has_image(const std::string& name);

  // Makes the bridge network if there is none of that name. Errors: no_space `docker_network_pool_exhausted`.
  Result<bool> ensure_network(const std::string& name, const Labels& labels);
  // This host's IPv4 address on the network, as its containers see it; empty: it has none.
  Result<std::string> fetch_gateway(const std::string& network);
  // Attaches with these names and no others; one that is attached otherwise is attached anew. False: it was
  // so already.
  Result<bool> ensure_attached(const std::string& network, const ContainerFacts& container, const Endpoint& wanted);

 private:
  DockerEngine(HttpAddress address, std::string prefix)
      : address_(std::move(address)), prefix_(std::move(prefix)) {}
  Result<HttpResponse> call(std::string method, const std::string& target, std::string body = {},
                            std::chrono::milliseconds limit = std::chrono::seconds(30));
  // A call that succeeds with any of `expected`; the engine's own words otherwise.
  Result<HttpResponse> require(std::initializer_list<unsigned> expected, std::string method,
                               const std::string& target, std::string body = {},
                               std::chrono::milliseconds limit = std::chrono::seconds(30));
  Result<std::vector<ContainerFacts>> fetch_filtered(const std::string& filters);
  Result<std::optional<ContainerFacts>> inspect(const std::string& id);
  HttpAddress address_;
  std::string prefix_;  // "/v1.43"
};

// `docker_network_pool_exhausted`, if that is what the engine (or Compose, quoting it) says; else `error` as
// it is.
Error explain_pool_exhaustion(Error error);

}  // namespace hedge::worktree
