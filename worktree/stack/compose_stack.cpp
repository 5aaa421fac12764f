#include "worktree/stack/compose_stack.h"

#include <algorithm>
#include <iterator>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "worktree/stack/compose_inputs.h"
#include "worktree/stack/labelled_resources.h"

namespace hedge::worktree {
namespace {

constexpr auto kConfigLimit = std::chrono::seconds(60);
constexpr auto kStopGrace = std::chrono::seconds(10);
constexpr const char* kProjectLabel = "com.docker.compose.project";
constexpr const char* kDirectoryLabel = "com.docker.compose.project.working_dir";

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error not_running(const ContainerFacts& container) {
  const bool ended = container.state == "exited" && container.exit_code != 0;
  return Error(ErrorKind::unavailable,
               container.name + " is " + container.state +
                   (ended ? " with " + std::to_string(container.exit_code) : std::string()))
      .with_id("stack_not_running");
}

Error gone_or_foreign(const std::string& project, const ContainerFacts& other) {
  return Error(ErrorKind::conflict,
               "a compose project " + project + " exists and is not ours: container " + other.name)
      .with_id("ownership_conflict");
}

}  // namespace

ComposeStack::ComposeStack(ComposeStackSpec spec, CommandRunner& runner)
    : spec_(std::move(spec)), runner_(runner) {}

Labels ComposeStack::own_labels() const {
  if (is_main()) return {{kDirectoryLabel, spec_.checkout.string()}};
  return {{std::string(kIdLabel), spec_.id}};
}

ComposeProject ComposeStack::project() const {
  if (is_main()) {
    auto files = find_compose_files(spec_.checkout, spec_.compose_files);
    return {spec_.main_project, spec_.checkout, files ? *files : std::vector<std::filesystem::path>()};
  }
  return {spec_.name, spec_.checkout, {generated_file()}};
}

RenderRequest ComposeStack::render_request(const ComposeTool& tool,
                                           const std::vector<std::filesystem::path>& files) const {
  RenderRequest request;
  request.compose = tool.version();
  request.id = spec_.id;
  request.app = spec_.app;
  request.slug = spec_.slug;
  request.project = spec_.name;
  request.checkout = spec_.checkout;
  request.git_common_dir = spec_.git_common_dir;
  request.main_checkout = spec_.main_checkout;
  request.trust_directory = spec_.trust_directory;
  request.files = files;
  for (const ComposeService& service : spec_.services) request.services.push_back(service.name);
  request.environment = spec_.environment;
  return request;
}

Result<DockerEngine> ComposeStack::engine() const {
  const auto facts = probe_engine(spec_.caller);
  if (!facts) return facts.error();
  return DockerEngine::connect(*facts);
}

Result<std::vector<ContainerFacts>> ComposeStack::fetch_own(DockerEngine& engine) const {
  return engine.fetch_containers(own_labels());
}

// Containers of a project of our name that are not ours.
Result<std::vector<ContainerFacts>> ComposeStack::fetch_foreign(DockerEngine& engine) const {
  if (is_main()) return std::vector<ContainerFacts>();
  auto containers = engine.fetch_containers({{kProjectLabel, spec_.name}});
  if (!containers) return containers;
  std::erase_if(*containers, [this](const ContainerFacts& container) {
    const auto id = container.labels.find(std::string(kIdLabel));
    return id != container.labels.end() && id->second == spec_.id;
  });
  return containers;
}

// Of everything that goes into the configuration, as far as it can be told without running Compose.
Result<std::string> ComposeStack::digest() const {
  auto files = find_compose_files(spec_.checkout, spec_.compose_files);
  if (!files) return files.error();
  // Seeding and the environment step may change what these hold without a change of a compose file.
  const std::vector<std::filesystem::path> inputs = find_compose_inputs(*files, spec_.checkout);
  files->insert(files->end(), inputs.begin(), inputs.end());
  files->push_back(spec_.checkout / ".env");
  std::string text = spec_.name + "\n" + spec_.checkout.string() + "\n" + spec_.network + "\n" + spec_.host + "\n" +
                     spec_.trust_directory.string() + "\n";
  for (const auto& file : *files) {
    const auto content = read_file(file);
    text += file.string() + "\n" + to_hex(sha256(content ? *content : std::string())) + "\n";
  }
  for (const ComposeService& service : spec_.services)
    text += service.name + " " + join(service.aliases, ",") + "\n";
  for (const auto& [name, value] : spec_.environment)
    text.append(name).append("=").append(value).append(1, '\0');
  return to_hex(sha256(text));
}

Result<Finding> ComposeStack::check() {
  Finding finding;
  auto engine = this->engine();
  if (!engine) {
    finding.problems.push_back(engine.error());
    return finding;
  }
  const auto foreign = fetch_foreign(*engine);
  if (!foreign) return foreign.error();
  if (!foreign->empty()) {
    finding.presence = Presence::foreign;
    finding.problems.push_back(gone_or_foreign(spec_.name, foreign->front()));
    return finding;
  }
  const auto containers = fetch_own(*engine);
  if (!containers) return containers.error();
  if (containers->empty()) {
    finding.presence = Presence::missing;
    finding.problems.push_back(Error(ErrorKind::not_found, "no containers").with_id("container_missing"));
    return finding;
  }
  const auto record = load_compose_record(record_file());
  if (!record) return record.error();
  const auto now = digest();
  if (!now) {
    finding.problems.push_back(now.error());
  } else {
    compare(*containers, *record, *now, finding);
  }
  finding.presence = finding.problems.empty() ? Presence::present : Presence::differs;
  return finding;
}

void ComposeStack::compare(const std::vector<ContainerFacts>& containers,
                           const std::optional<ComposeRecord>& record, const std::string& digest,
                           Finding& finding) const {
  if (!is_main() && (!record || record->digest != digest)) {
    finding.problems.push_back(
        Error(ErrorKind::conflict, "it was started from another configuration").with_id("stack_not_running"));
  }
  std::vector<std::string> wanted = record ? record->services : std::vector<std::string>();
  for (const ComposeService& service : spec_.services) {
    if (is_main() && !contains(wanted, service.name)) wanted.push_back(service.name);
  }
  wanted = selection(wanted);
  const NetworkNames names = network_names(record ? record->shared_networks : SharedNetworks());
  for (const ContainerFacts& container : containers) {
    const std::string service = container.service();
    if (!contains(wanted, service)) continue;
    const bool has_done_its_work = record && contains(record->one_shots, service) &&
                                   container.state == "exited" && container.exit_code == 0;
    if (!container.is_running() && !has_done_its_work) finding.problems.push_back(not_running(container));
    for (Error& problem : endpoint_problems(container, wanted_endpoints(container, containers, names)))
      finding.problems.push_back(std::move(problem));
  }
  for (const std::string& service : wanted) {
    const bool exists =
        std::any_of(containers.begin(), containers.end(),
                    [&service](const ContainerFacts& container) { return container.service() == service; });
    if (exists) continue;
    finding.problems.push_back(
        Error(ErrorKind::not_found, "service " + service + " has no container").with_id("container_missing"));
  }
}

std::vector<std::string> ComposeStack::selection(const std::vector<std::string>& all) const {
  if (spec_.selected) return *spec_.selected;
  std::vector<std::string> out;
  for (const std::string& service : all) {
    if (!contains(spec_.excluded, service)) out.push_back(service);
  }
  return out;
}

Result<RenderedConfig> ComposeStack::generate(DockerEngine& engine, const ComposeTool& tool) const {
  const auto files = find_compose_files(spec_.checkout, spec_.compose_files);
  if (!files) return files.error();
  const auto rendered = tool.run({spec_.name, spec_.checkout, *files}, {"config"}, kConfigLimit);
  if (!rendered) return Error(rendered.error()).with_id("compose_file_invalid");
  RenderRequest request = render_request(tool, *files);
  if (auto ready = ensure_network(engine); !ready) return ready.error();
  const auto gateway = engine.fetch_gateway(spec_.network);
  if (!gateway) return gateway.error();
  // Any other answer for a name below .localhost would be the container itself.
  if (!spec_.host.empty() && !gateway->empty()) request.extra_hosts.push_back(spec_.host + ":" + *gateway);
  auto config = render_for_worktree(*rendered, request);
  if (!config) return config;
  if (auto made = ensure_directory(spec_.directory, 0700); !made) return made.error();
  // It holds the worktree's environment, with its passwords.
  if (auto written = write_file_atomically(generated_file(), config->text, 0600); !written)
    return written.error();
  const auto read_back = tool.run(project(), {"config"}, kConfigLimit);
  if (!read_back) return Error(read_back.error()).with_id("compose_rendered_unsafe");
  if (auto safe = require_safe(*read_back, request); !safe) return safe.error();
  return config;
}

Result<Change> ComposeStack::converge() {
  const auto finding = check();
  if (!finding) return finding.error();
  Change change{kind(), name(), Action::none, {}};
  if (finding->presence == Presence::present) return change;
  if (finding->presence == Presence::foreign || finding->presence == Presence::unknown)
    return finding->problems.front();
  auto engine = this->engine();
  if (!engine) return engine.error();
  const auto tool = ComposeTool::detect(runner_, spec_.caller);
  if (!tool) return tool.error();
  RenderedConfig config;
  if (!is_main()) {
    auto generated = generate(*engine, *tool);
    if (!generated) return generated.error();
    config = std::move(*generated);
  }
  const auto now = digest();
  if (!now) return now.error();
  if (auto done = up(*engine, *tool, config); !done) return done.error();
  const ComposeRecord record{*now, config.services, config.one_shots, config.shared_networks};
  if (auto started = require_started(*engine, record); !started) return started.error();
  if (auto made = ensure_directory(spec_.directory, 0700); !made) return made.error();
  if (auto stored = store_compose_record(record_file(), record); !stored) return stored.error();
  change.action = finding->presence == Presence::missing ? Action::created : Action::started;
  change.detail = join(config.notes, "; ");
  return change;
}

// Containers are made, attached, and only then started: the application finds its network from its first
// moment.
Result<void> ComposeStack::up(DockerEngine& engine, const ComposeTool& tool,
                              const RenderedConfig& config) const {
  const std::vector<std::string> selected = selection(config.services);
  const auto with_selection = [&selected](std::vector<std::string> verb) {
    verb.insert(verb.end(), selected.begin(), selected.end());
    return verb;
  };
  const bool is_limited = spec_.selected || !spec_.excluded.empty();
  if (is_limited && selected.empty()) return {};  // Compose takes an empty list for all
  const auto made = tool.run(project(), with_selection({"up", "--no-start"}), spec_.up_limit);
  if (!made) {
    for (const auto& [service, image] : config.images) {
      const auto present = engine.has_image(image);
      if (!present || *present || (is_limited && !contains(selected, service))) continue;
      return Error(ErrorKind::not_found, "the image " + image + " of service " + service + " cannot be had")
          .with_id("image_unavailable")
          .with_cause(made.error());
    }
    return explain_pool_exhaustion(made.error());
  }
  if (auto attached = attach(engine, config.shared_networks); !attached) return attached;
  const auto started = tool.run(project(), with_selection({"up", "-d", "--no-recreate"}), spec_.up_limit);
  if (!started) return explain_pool_exhaustion(started.error());
  return {};
}

Result<void> ComposeStack::ensure_network(DockerEngine& engine) const {
  const Labels shared{{"hedge.network", "shared"}};
  if (const auto ready = engine.ensure_network(spec_.network, shared); !ready) return ready.error();
  return {};
}

NetworkNames ComposeStack::network_names(SharedNetworks shared) const {
  return {spec_.services, spec_.network, spec_.alias, std::move(shared)};
}

Result<void> ComposeStack::attach(DockerEngine& engine, const SharedNetworks& shared) const {
  if (auto ready = ensure_network(engine); !ready) return ready;
  const auto containers = fetch_own(engine);
  if (!containers) return containers.error();
  for (const ContainerFacts& container : *containers) {
    for (const auto& [network, endpoint] : wanted_endpoints(container, *containers, network_names(shared))) {
      if (const auto attached = engine.ensure_attached(network, container, endpoint); !attached) return attached.error();
    }
  }
  return {};
}

Result<std::vector<Error>> ComposeStack::find_alias_clashes() const {
  auto engine = this->engine();
  if (!engine) return engine.error();
  const auto containers = fetch_own(*engine);
  if (!containers) return containers.error();
  const auto record = load_compose_record(record_file());
  if (!record) return record.error();
  const NetworkNames names = network_names(*record ? (*record)->shared_networks : SharedNetworks());
  std::vector<Error> out;
  for (const ContainerFacts& container : *containers) {
    for (Error& problem : endpoint_problems(container, wanted_endpoints(container, *containers, names)))
      if (problem.id() == "network_alias_bare") out.push_back(std::move(problem));
  }
  auto taken = find_clashes(*engine, *containers, names);
  if (!taken) return taken;
  out.insert(out.end(), std::make_move_iterator(taken->begin()), std::make_move_iterator(taken->end()));
  return out;
}

Result<void> ComposeStack::require_started(DockerEngine& engine, const ComposeRecord& record) const {
  const auto containers = fetch_own(engine);
  if (!containers) return containers.error();
  const std::vector<std::string> wanted = selection(record.services);
  for (const ContainerFacts& container : *containers) {
    const std::string service = container.service();
    if (container.is_running() || !contains(wanted, service)) continue;
    if (contains(record.one_shots, service) && container.exit_code == 0) continue;
    return not_running(container).with_id("service_exited").with_hint("docker logs " + container.name + " shows why");
  }
  return {};
}

Result<std::vector<ServiceStatus>> ComposeStack::load_status() {
  auto engine = this->engine();
  if (!engine) return engine.error();
  const auto containers = fetch_own(*engine);
  if (!containers) return containers.error();
  std::vector<ServiceStatus> out;
  for (const ComposeService& service : spec_.services) {
    ServiceStatus status;
    status.name = service.name;
    status.port = service.port;
    for (const ContainerFacts& container : *containers) {
      if (container.service() != service.name) continue;
      status.instance = container.id;
      if (!is_main()) status.environment = container.environment;
      // 128 + SIGTERM and 128 + SIGKILL are how a container ends that was asked to stop.
      const bool was_asked =
          container.exit_code == 0 || container.exit_code == 143 || container.exit_code == 137;
      status.state = container.is_running() ? ServiceState::running
                     : was_asked            ? ServiceState::stopped
                                            : ServiceState::failed;
      if (status.state == ServiceState::failed)
        status.detail = "exited with " + std::to_string(container.exit_code);
    }
    out.push_back(std::move(status));
  }
  return out;
}

Result<Change> ComposeStack::stop() {
  auto engine = this->engine();
  if (!engine) return engine.error();
  const auto containers = fetch_own(*engine);
  if (!containers) return containers.error();
  Change change{kind(), name(), Action::none, {}};
  for (const ContainerFacts& container : *containers) {
    if (!container.is_running()) continue;
    if (auto stopped = engine->stop_container(container.id, kStopGrace); !stopped) return stopped.error();
    change.action = Action::stopped;
  }
  return change;
}

Result<Change> ComposeStack::remove() {
  Change change{kind(), name(), Action::none, {}};
  if (is_main()) return change;
  auto engine = this->engine();
  if (!engine) return engine.error();
  const auto removed = remove_labelled(*engine, own_labels());
  if (!removed) return removed.error();
  if (*removed || path_exists(spec_.directory)) change.action = Action::removed;
  if (auto gone = remove_tree(spec_.directory); !gone) return gone.error();
  return change;
}

Result<std::string> ComposeStack::fetch_gateway() const {
  auto engine = this->engine();
  if (!engine) return engine.error();
  return engine->fetch_gateway(spec_.network);
}

Result<CommandLine> ComposeStack::command_in(const std::string& service, const std::vector<std::string>& argv,
                                             Interaction interaction) const {
  const auto tool = ComposeTool::detect(runner_, spec_.caller);
  if (!tool) return tool.error();
  std::vector<std::string> verb{"exec"};
  if (interaction == Interaction::none) verb.emplace_back("-T");
  verb.push_back(service);
  verb.insert(verb.end(), argv.begin(), argv.end());
  return tool->command(project(), verb);
}

}  // namespace hedge::worktree
