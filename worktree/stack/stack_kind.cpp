#include "worktree/stack/stack_kind.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "config/project_config.h"
#include "worktree/env_file.h"
#include "worktree/parameters.h"
#include "worktree/route_resource.h"
#include "worktree/stack/child_environment.h"
#include "worktree/stack/compose_stack.h"
#include "worktree/stack/process_stack.h"

namespace hedge::worktree {
namespace {

using Json = nlohmann::json;

std::uint16_t port_of(const PlanInput& input, const config::ProcessConfig& process) {
  if (process.port_variable.empty()) return 0;
  const auto found = input.observed.ports.find(process.name);
  return found == input.observed.ports.end() ? std::uint16_t{0} : found->second;
}

std::string process_upstream(const PlanInput& input) {
  for (const config::ProcessConfig& process : input.config.stack.processes) {
    if (const auto port = port_of(input, process); port != 0) return "tcp:127.0.0.1:" + std::to_string(port);
  }
  return {};
}

std::string compose_upstream(const PlanInput& input) {
  for (const config::ServiceConfig& service : input.config.stack.services) {
    if (service.port == 0) continue;
    std::string owner = std::string(kIdLabel) + "=" + input.record.id;
    if (input.record.kind == WorktreeKind::main) {
      const std::string path = input.record.path.string();
      if (path.find_first_of(",:") != std::string::npos)
        return {};  // a label's value that no selector can hold
      owner = "com.docker.compose.project.working_dir=" + path;
    }
    return "docker:" + owner + ",com.docker.compose.service=" + service.name + ":" +
           std::to_string(service.port);
  }
  return {};
}

bool wants_stack(const PlanInput& input) {
  return input.record.stack == StackWish::with_stack &&
         input.config.stack.runtime != config::StackRuntime::none;
}

// Where the configuration has the process's command, as "hedge.toml:12:3".
std::string origin_of_command(const config::ProjectConfig& config, const std::string& process) {
  const auto& processes = config.stack.processes;
  const auto index = std::ranges::find(processes, process, &config::ProcessConfig::name) - processes.begin();
  const std::string key = "stack.processes[" + std::to_string(index) + "].command";
  const auto found = std::ranges::find(config.effective, key, &config::EffectiveValue::key);
  return found == config.effective.end() ? std::string(config::kProjectConfigFile) : found->origin;
}

// What a process is started with can be read by every user of the machine.
Error secret_in_command(const config::ProjectConfig& config, const std::string& process, const std::string& argument) {
  return Error(ErrorKind::invalid_input, origin_of_command(config, process) + ": the command of process " + process +
                                             " would have a secret in its arguments: \"" + printable(argument) + "\"")
      .with_id("secret_in_command")
      .with_hint("set it in the process's environment, and let the program read it there");
}

Result<Json> plan_process(const PlanInput& input, const config::ProcessConfig& process,
                          const Values& values) {
  Values own = values;
  const std::uint16_t port = port_of(input, process);
  own["port"] = std::to_string(port);
  Json argv = Json::array();
  for (const std::string& argument : process.command) {
    auto expanded = expand_template(argument, own);
    if (!expanded) return std::move(expanded).error().with_context("process " + process.name);
    if (expanded->has_secret()) return secret_in_command(input.config, process.name, argument);
    argv.push_back(expanded->literals());
  }
  Json environment = Json::object();
  for (const auto& [name, value] : process.environment) {
    auto expanded = expand_template(value, own);
    if (!expanded) return std::move(expanded).error().with_context("process " + process.name + ", " + name);
    environment[name] = *expanded;
  }
  Json json = {{"name", process.name},
               {"argv", argv},
               {"directory", process.directory},
               {"port_variable", process.port_variable},
               {"port", port},
               {"ready_path", nullptr},
               {"ready_limit_ms", process.ready_timeout.count()},
               {"stop_limit_ms", process.stop_timeout.count()},
               {"environment", environment}};
  if (process.ready_path) json["ready_path"] = *process.ready_path;
  return json;
}

Result<Json> plan_processes(const PlanInput& input, const Values& values) {
  Json processes = Json::array();
  for (const config::ProcessConfig& process : input.config.stack.processes) {
    auto planned = plan_process(input, process, values);
    if (!planned) return planned.error();
    processes.push_back(std::move(*planned));
  }
  return Json{{"runtime", "process"}, {"processes", processes}};
}

// The first service has the worktree's own alias, the others one below it.
std::vector<std::string> aliases_of(const PlanInput& input, const config::ServiceConfig& service,
                                    bool is_first) {
  if (service.port == 0) return {};
  const std::string& alias = input.names.network_alias;
  return {is_first ? alias : service.name + "." + alias};
}

Json to_json(const std::vector<ServiceChoice>& choices) {
  Json json = Json::array();
  for (const ServiceChoice& choice : choices) {
    json.push_back({{"name", choice.name}, {"starts", choice.starts}, {"reason", choice.reason}});
  }
  return json;
}

std::string given_text(const PlanInput& input, std::string_view key) {
  const auto found = input.observed.given.find(std::string(key));
  return found == input.observed.given.end() ? std::string() : found->second.literals();
}

Result<Json> plan_containers(const PlanInput& input) {
  const config::StackConfig& stack = input.config.stack;
  Json services = Json::array();
  std::vector<SelectableService> selectable;
  bool is_first = true;
  for (const config::ServiceConfig& service : stack.services) {
    services.push_back(
        {{"name", service.name}, {"port", service.port}, {"aliases", aliases_of(input, service, is_first)}});
    if (service.port != 0) is_first = false;
    selectable.push_back({service.name, service.when_changed});
  }
  const auto choices = select_services(selectable, input.observed.changed_paths, {});
  if (!choices) return choices.error();
  return Json{{"runtime", "compose"},
              {"project", input.names.compose_project},
              {"main_project", stack.main_project.value_or("")},
              {"files", stack.compose},
              {"network", stack.network},
              {"alias", input.names.network_alias},
              {"host", input.names.host},
              {"trust", given_text(input, kTrustDirectory)},
              {"services", services},
              {"choices", to_json(*choices)},
              {"selected", nullptr}};
}

Error unreadable(const std::string& why) {
  return Error(ErrorKind::corrupt, "the recorded stack cannot be understood: " + why)
      .with_id("state_unreadable");
}

std::vector<ServiceChoice> choices_from(const Json& json) {
  std::vector<ServiceChoice> out;
  for (const Json& choice : json) {
    out.push_back({choice.at("name").get<std::string>(), choice.at("starts").get<bool>(),
                   choice.at("reason").get<std::string>()});
  }
  return out;
}

Environment expanded(const Json& variables, const WorktreeRecord& record) {
  Environment out;
  for (const auto& [name, value] : variables.items())
    out[name] = value.get<ValueText>().reveal(record);
  return out;
}

ProcessSpec process_from(const Json& json, const WorktreeRecord& record) {
  ProcessSpec process;
  process.name = json.at("name").get<std::string>();
  process.argv = json.at("argv").get<std::vector<std::string>>();
  process.directory = (record.path / json.at("directory").get<std::string>()).lexically_normal();
  process.port_variable = json.at("port_variable").get<std::string>();
  process.port = json.at("port").get<std::uint16_t>();
  if (!json.at("ready_path").is_null()) process.ready_path = json.at("ready_path").get<std::string>();
  process.ready_limit = std::chrono::milliseconds(json.at("ready_limit_ms").get<std::int64_t>());
  process.stop_limit = std::chrono::milliseconds(json.at("stop_limit_ms").get<std::int64_t>());
  process.environment = expanded(json.at("environment"), record);
  return process;
}

void choose(const Json& json, ComposeStackSpec& spec) {
  if (!json.at("selected").is_null()) {
    spec.selected = json.at("selected").get<std::vector<std::string>>();
    return;
  }
  for (const ServiceChoice& choice : choices_from(json.at("choices"))) {
    if (!choice.starts) spec.excluded.push_back(choice.name);
  }
}

ComposeStackSpec containers_from(const Json& json, const WorktreeRecord& record) {
  ComposeStackSpec spec;
  spec.owner = record.kind == WorktreeKind::main ? StackOwner::main_checkout : StackOwner::worktree;
  spec.name = json.at("project").get<std::string>();
  spec.id = record.id;
  spec.app = record.app;
  spec.slug = record.slug;
  spec.checkout = record.path;
  spec.git_common_dir = record.repository;
  if (record.kind == WorktreeKind::linked) spec.main_checkout = record.main_checkout;
  spec.main_project = json.at("main_project").get<std::string>();
  spec.compose_files = json.at("files").get<std::vector<std::string>>();
  spec.network = json.at("network").get<std::string>();
  spec.alias = json.value("alias", "");
  spec.host = json.value("host", "");  // a stack that an earlier version recorded has none
  spec.trust_directory = json.value("trust", "");  // likewise
  for (const Json& service : json.at("services")) {
    spec.services.push_back({service.at("name").get<std::string>(), service.at("port").get<std::uint16_t>(),
                             service.at("aliases").get<std::vector<std::string>>()});
  }
  choose(json, spec);
  return spec;
}

}  // namespace

StackKind::StackKind(StackSetup setup, const config::Paths& paths, CommandRunner& runner)
    : setup_(std::move(setup)), paths_(paths), runner_(runner) {}

void StackKind::publish(const PlanInput& input, Values& values) const {
  if (!wants_stack(input)) return;
  const bool is_process = input.config.stack.runtime == config::StackRuntime::process;
  const std::string upstream = is_process ? process_upstream(input) : compose_upstream(input);
  if (!upstream.empty()) values[std::string(kUpstreamValue)] = upstream;
}

Result<std::vector<ResourceSpec>> StackKind::plan(const PlanInput& input, const Values& values) const {
  if (!wants_stack(input)) return std::vector<ResourceSpec>();
  const bool is_process = input.config.stack.runtime == config::StackRuntime::process;
  auto json = is_process ? plan_processes(input, values) : plan_containers(input);
  if (!json) return json.error();
  auto variables = plan_variables(input, values);
  if (!variables) return variables.error();
  (*json)["withheld"] = input.config.database.admin_url_variable;
  (*json)["environment"] = Json::object();
  for (const auto& [name, value] : *variables) (*json)["environment"][name] = value;
  return std::vector<ResourceSpec>{{kind(), input.names.compose_project, write_parameters(*json)}};
}

bool StackKind::is_same_thing(const ResourceSpec& recorded, const ResourceSpec& wanted) const {
  return agree_on("runtime", recorded, wanted);
}

Result<std::unique_ptr<Resource>> StackKind::make(const ResourceSpec& spec,
                                                  const WorktreeRecord& record) const {
  try {
    const Json json = Json::parse(spec.parameters);
    const auto directory = paths_.stacks_directory() / record.id;
    if (json.at("runtime") == "compose") {
      ComposeStackSpec containers = containers_from(json, record);
      containers.directory = directory;
      containers.environment = expanded(json.at("environment"), record);
      containers.caller = setup_.environment;
      return std::unique_ptr<Resource>(std::make_unique<ComposeStack>(std::move(containers), runner_));
    }
    ProcessStackSpec processes;
    processes.name = spec.name;
    processes.checkout = record.path;
    processes.files = StackFiles{directory};
    processes.environment = expanded(json.at("environment"), record);
    processes.inherited = environment_for_process(setup_.environment, {}, json.value("withheld", ""));
    processes.supervisor = setup_.supervisor;
    for (const Json& process : json.at("processes"))
      processes.processes.push_back(process_from(process, record));
    return std::unique_ptr<Resource>(std::make_unique<ProcessStack>(std::move(processes)));
  } catch (const Json::exception& problem) {
    return unreadable(problem.what());
  }
}

Result<std::vector<ServiceChoice>> choices_of(const ResourceSpec& spec) {
  try {
    const Json json = Json::parse(spec.parameters);
    if (json.at("runtime") == "compose") return choices_from(json.at("choices"));
    std::vector<ServiceChoice> out;
    for (const Json& process : json.at("processes"))
      out.push_back({process.at("name").get<std::string>(), true, "always"});
    return out;
  } catch (const Json::exception& problem) {
    return unreadable(problem.what());
  }
}

Result<ResourceSpec> with_wish(const ResourceSpec& spec, const ServiceWish& wish) {
  if (wish.kind == ServiceWish::Kind::needed) return spec;  // that is what plan() decided
  try {
    Json json = Json::parse(spec.parameters);
    const bool is_compose = json.at("runtime") == "compose";
    std::vector<SelectableService> services;
    for (const Json& service : json.at(is_compose ? "services" : "processes")) {
      services.push_back({service.at("name").get<std::string>(), {}});
    }
    const auto choices = select_services(services, {}, wish);
    if (!choices) return choices.error();
    if (!is_compose) return spec;  // a supervisor's processes are one thing: they start together
    json["choices"] = to_json(*choices);
    if (wish.kind == ServiceWish::Kind::named) json["selected"] = wish.names;
    ResourceSpec out = spec;
    out.parameters = write_parameters(json);
    return out;
  } catch (const Json::exception& problem) {
    return unreadable(problem.what());
  }
}

}  // namespace hedge::worktree
