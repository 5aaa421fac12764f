// A stack of containers, through Docker Compose.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "worktree/stack/compose_tool.h"
#include "worktree/stack/docker_engine.h"
#include "worktree/stack/rendered_config.h"
#include "worktree/stack/stack.h"

namespace hedge::worktree {

struct ComposeService {
  std::string name;
  std::uint16_t port = 0;             // inside its container
  std::vector<std::string> aliases;   // on the shared network; unique on this machine
};

struct ComposeStackSpec {
  std::string name;  // the project's
  StackOwner owner = StackOwner::worktree;
  std::string id;
  std::string app;
  std::string slug;
  std::filesystem::path checkout;
  std::filesystem::path git_common_dir;
  std::filesystem::path main_checkout;
  std::filesystem::path directory;         // the stack's own files, in the state directory
  std::vector<std::string> compose_files;  // relative to the checkout; empty: the default names
  std::string network;                     // shared with the edge
  std::vector<ComposeService> services;    // the application's
  std::optional<std::vector<std::string>> selected;  // absent: every service of the file
  Environment environment;                 // the worktree's variables, complete
  Environment caller;                      // the caller's environment: where the engine is, which tools there are
  std::chrono::milliseconds up_limit{600000};
};

// check(): present (all run, from this configuration, attached to the shared network), differs (stopped, ended by itself, or
// from another configuration), missing (no containers), foreign (a project of this name is somebody else's).
// converge(): a second one changes no container. Errors: those of probe_engine(), ComposeTool, rendered_config;
// `image_unavailable`, `docker_network_pool_exhausted`, `service_exited`, conflict `ownership_conflict`.
// remove(): by label, without Compose, so that neither the checkout nor its files are needed; verified to be empty.
class ComposeStack final : public Stack {
 public:
  ComposeStack(ComposeStackSpec spec, CommandRunner& runner);

  std::string name() const override { return spec_.name; }
  Result<Finding> check() override;
  Result<Change> converge() override;
  Result<Change> remove() override;
  Result<std::vector<ServiceStatus>> load_status() override;
  Result<Change> stop() override;

 private:
  std::filesystem::path generated_file() const { return spec_.directory / "compose.json"; }
  std::filesystem::path inputs_file() const { return spec_.directory / "inputs"; }
  RenderRequest render_request() const;
  Result<DockerEngine> engine() const;
  Result<std::vector<ContainerFacts>> fetch_own(DockerEngine& engine) const;
  Result<void> require_no_foreigners(DockerEngine& engine) const;
  Result<RenderedConfig> generate(const ComposeTool& tool) const;
  Result<std::string> inputs_digest() const;
  Result<std::string> digest_of(const std::vector<std::filesystem::path>& files) const;
  std::vector<std::string> verb_with_selection(std::vector<std::string> verb) const;
  Result<int> attach(DockerEngine& engine) const;
  Result<bool> is_attached(DockerEngine& engine, const ContainerFacts& container) const;

  ComposeStackSpec spec_;
  CommandRunner& runner_;
};

}  // namespace hedge::worktree
