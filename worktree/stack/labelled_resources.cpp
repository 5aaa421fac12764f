#include "worktree/stack/labelled_resources.h"

#include <thread>

namespace hedge::worktree {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kStopGrace = std::chrono::seconds(10);
constexpr auto kGoneLimit = std::chrono::seconds(10);  // for a removal that the engine still works on
constexpr auto kLook = std::chrono::milliseconds(50);

struct Labelled {
  std::vector<ContainerFacts> containers;
  std::vector<std::string> networks;
  std::vector<std::string> volumes;
  bool empty() const { return containers.empty() && networks.empty() && volumes.empty(); }
};

Result<Labelled> fetch_labelled(DockerEngine& engine, const Labels& labels) {
  auto containers = engine.fetch_containers(labels);
  if (!containers) return containers.error();
  auto networks = engine.fetch_networks(labels);
  if (!networks) return networks.error();
  auto volumes = engine.fetch_volumes(labels);
  if (!volumes) return volumes.error();
  return Labelled{std::move(*containers), std::move(*networks), std::move(*volumes)};
}

Result<void> stop_all(DockerEngine& engine, const std::vector<ContainerFacts>& containers) {
  for (const ContainerFacts& container : containers) {
    if (!container.is_running()) continue;
    if (auto stopped = engine.stop_container(container.id, kStopGrace); !stopped) return stopped;
  }
  return {};
}

Result<void> remove_all(DockerEngine& engine, const Labelled& found) {
  for (const ContainerFacts& container : found.containers) {
    if (auto removed = engine.remove_container(container.id); !removed) return removed;
  }
  for (const std::string& network : found.networks) {
    if (auto removed = engine.remove_network(network); !removed) return removed;
  }
  for (const std::string& volume : found.volumes) {
    if (auto removed = engine.remove_volume(volume); !removed) return removed;
  }
  return {};
}

}  // namespace

Result<bool> remove_labelled(DockerEngine& engine, const Labels& labels) {
  auto found = fetch_labelled(engine, labels);
  if (!found) return found.error();
  if (found->empty()) return false;
  if (auto stopped = stop_all(engine, found->containers); !stopped) return stopped.error();
  const auto deadline = SteadyClock::now() + kGoneLimit;
  // Only what the engine says now counts, not what it answered to a removal.
  while (!found->empty()) {
    auto removed = remove_all(engine, *found);
    if (!removed && removed.error().kind() != ErrorKind::conflict) return removed.error();
    if (SteadyClock::now() >= deadline) {
      return removed ? Error(ErrorKind::timed_out, "the engine keeps what it was told to remove")
                     : removed.error();
    }
    if (!removed) std::this_thread::sleep_for(kLook);
    found = fetch_labelled(engine, labels);
    if (!found) return found.error();
  }
  return true;
}

}  // namespace hedge::worktree
