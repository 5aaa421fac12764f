// A stack of containers, through Docker Compose.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "worktree/stack/compose_record.h"
#include "worktree/stack/compose_tool.h"
#include "worktree/stack/docker_engine.h"
#include "worktree/stack/rendered_config.h"
#include "worktree/stack/shared_networks.h"
#include "worktree/stack/stack.h"

namespace hedge::worktree {

enum class StackOwner {
  worktree,       // a project of its own, from a generated configuration
  main_checkout,  // the repository's own project, from its own files; never removed
};

struct ComposeStackSpec {
  std::string name;  // the project's; for the main checkout a name for people
  StackOwner owner = StackOwner::worktree;
  std::string id;
  std::string app;
  std::string slug;
  // The public name; inside it is this host's address on `network`, where an edge is found that listens there.
  std::string host;
  std::filesystem::path checkout;
  std::filesystem::path git_common_dir;
  std::filesystem::path main_checkout;
  std::filesystem::path trust_directory;   // what the variables of trust name; empty: nothing
  std::filesystem::path directory;         // the stack's own files, in the state directory
  std::vector<std::string> compose_files;  // relative to the checkout; empty: the default names
  std::string main_project;                // of the main checkout; empty: what Compose derives
  std::string network;                     // shared with the edge
  std::string alias;                       // the worktree's own on shared networks
  std::vector<ComposeService> services;    // the application's
  std::optional<std::vector<std::string>>
      selected;  // exactly these; absent: all of the files that are not `excluded`
  std::vector<std::string> excluded;
  Environment environment;  // the worktree's variables, complete
  Environment caller;       // the caller's environment: where the engine is, which tools there are
  std::chrono::milliseconds up_limit{600000};
};

enum class Interaction { none, terminal };

// check(): present (all run, from this configuration, attached to shared networks under names of their own), differs (stopped,
// ended by itself, or from another configuration), missing (no containers), foreign (a project of this name
// is somebody else's), unknown (no engine). converge(): a second one changes no container. Errors: those of
// probe_engine(), ComposeTool and rendered_config; `image_unavailable`, `docker_network_pool_exhausted`,
// `service_exited`, conflict `ownership_conflict`. remove(): by label, without Compose, so that neither the
// checkout nor its files are needed; verified to be empty afterwards.
class ComposeStack final : public Stack {
 public:
  // Lifetime: `runner` outlives the stack.
  ComposeStack(ComposeStackSpec spec, CommandRunner& runner);

  std::string name() const override { return spec_.name; }
  Result<Finding> check() override;
  Result<Change> converge() override;
  Result<Change> remove() override;
  Result<std::vector<ServiceStatus>> load_status() override;
  Result<Change> stop() override;

  // `network_alias_bare`, `network_alias_taken`: names on shared networks that may lead, or do lead, to somebody else.
  Result<std::vector<Error>> find_alias_clashes() const;

  // This host's address on `network`, as the stack's containers see it; empty: it has none.
  Result<std::string> fetch_gateway() const;

  // The command line that runs `argv` in a running container of `service`. Errors: those of ComposeTool.
  Result<CommandLine> command_in(const std::string& service, const std::vector<std::string>& argv,
                                 Interaction interaction) const;

 private:
  std::filesystem::path generated_file() const { return spec_.directory / "compose.json"; }
  std::filesystem::path record_file() const { return spec_.directory / "started.json"; }
  bool is_main() const { return spec_.owner == StackOwner::main_checkout; }
  Labels own_labels() const;
  ComposeProject project() const;
  RenderRequest render_request(const ComposeTool& tool,
                               const std::vector<std::filesystem::path>& files) const;

  Result<DockerEngine> engine() const;
  Result<std::string> digest() const;
  Result<std::vector<ContainerFacts>> fetch_own(DockerEngine& engine) const;
  Result<std::vector<ContainerFacts>> fetch_foreign(DockerEngine& engine) const;
  void compare(const std::vector<ContainerFacts>& containers, const std::optional<ComposeRecord>& record,
               const std::string& digest, Finding& finding) const;

  std::vector<std::string> selection(const std::vector<std::string>& all) const;
  Result<RenderedConfig> generate(DockerEngine& engine, const ComposeTool& tool) const;
  Result<void> up(DockerEngine& engine, const ComposeTool& tool, const RenderedConfig& config) const;
  Result<void> ensure_network(DockerEngine& engine) const;
  NetworkNames network_names(SharedNetworks shared) const;
  Result<void> attach(DockerEngine& engine, const SharedNetworks& shared) const;
  Result<void> require_started(DockerEngine& engine, const ComposeRecord& record) const;

  ComposeStackSpec spec_;
  CommandRunner& runner_;
};

}  // namespace hedge::worktree
