#include "worktree/commands/command_kind.h"

#include <nlohmann/json.hpp>

#include "config/project_config.h"
#include "worktree/commands/project_command.h"
#include "worktree/env_file.h"
#include "worktree/parameters.h"

namespace hedge::worktree {

using nlohmann::json;

namespace {

struct KnownCommand {
  const char* name;
  const char* check;      // name of the command that tells whether it is due; empty: a stamp tells
  bool reads_lockfiles;
};
constexpr KnownCommand kKnown[] = {{"install", "", true}, {"migrate", "migrate_check", false}};

std::filesystem::path stamp_in(const std::filesystem::path& git_dir, const std::string& name) {
  return git_dir / ("hedge-" + name);
}

// Where a command runs in a stack of containers: the service that serves the application.
std::string service_for(const config::ProjectConfig& config) {
  if (config.stack.runtime != config::StackRuntime::compose) return {};
  for (const config::ServiceConfig& service : config.stack.services) {
    if (service.port != 0) return service.name;
  }
  return {};
}

json parameters_of(const KnownCommand& known, const config::NamedCommand& command, const PlanInput& input,
                   const PlannedVariables& variables, const std::vector<ResourceSpec>& stack) {
  const config::NamedCommand* check = *known.check == '\0' ? nullptr : input.config.find_command(known.check);
  const std::string service = service_for(input.config);
  json out = {{"argv", command.argv},
              {"check", check == nullptr ? config::Argv{} : check->argv},
              {"lockfiles", known.reads_lockfiles ? input.config.seed.lockfiles : std::vector<std::string>{}},
              {"stamp", check == nullptr},
              {"seedable", known.reads_lockfiles ? input.config.seed.paths : std::vector<std::string>{}},
              {"seeded", known.reads_lockfiles ? input.observed.seed_paths : std::vector<std::string>{}},
              {"withheld", input.config.database.admin_url_variable},
              {"variables", variables}};
  if (!service.empty() && !stack.empty()) {
    out["service"] = service;
    out["stack"] = {stack.front().kind, stack.front().name, stack.front().parameters};
  }
  return out;
}

Result<ProjectCommandSpec> spec_from(const ResourceSpec& spec, const WorktreeRecord& record) {
  const json parameters = json::parse(spec.parameters, nullptr, false);
  const Error broken =
      Error(ErrorKind::corrupt, "the ledger's entry of command " + spec.name + " cannot be read").with_id("state_unreadable");
  if (!parameters.is_object()) return broken;
  ProjectCommandSpec out;
  try {  // nlohmann reports wrong types by throwing
    out.argv = parameters.at("argv").get<std::vector<std::string>>();
    out.check = parameters.at("check").get<std::vector<std::string>>();
    out.lockfiles = parameters.at("lockfiles").get<std::vector<std::string>>();
    out.seedable = parameters.value("seedable", std::vector<std::string>{});  // an earlier version recorded none
    out.seeded = parameters.value("seeded", std::vector<std::string>{});
    if (parameters.at("stamp").get<bool>()) out.stamp = stamp_in(record.git_dir, spec.name);
    const auto variables = parameters.at("variables").get<PlannedVariables>();
    out.place.variables = expand_variables(variables, record);
    out.place.withheld = parameters.value("withheld", "");
    if (parameters.contains("service")) {
      const json& stack = parameters.at("stack");
      out.place.service = ServicePlace{
          {stack.at(0).get<std::string>(), stack.at(1).get<std::string>(), stack.at(2).get<std::string>()},
          record,
          parameters.at("service").get<std::string>()};
    }
  } catch (const json::exception&) {
    return broken;
  }
  out.name = spec.name;
  out.checkout = record.path;
  out.main_checkout = record.main_checkout;
  out.main_stamp = stamp_in(record.repository, spec.name);
  out.place.directory = record.path;
  return out;
}

}  // namespace

void CommandKind::publish(const PlanInput&, Values&) const {}

Result<std::vector<ResourceSpec>> CommandKind::plan(const PlanInput& input, const Values& values) const {
  const bool in_container = !service_for(input.config).empty();
  const bool is_our_turn = in_container == (turn_ == CommandTurn::after_stack);
  std::vector<ResourceSpec> out;
  // Without a stack there is no container to run them in.
  if (!is_our_turn || (in_container && input.record.stack == StackWish::without_stack)) return out;
  auto variables = plan_variables(input, values);
  if (!variables) return variables.error();
  auto stack = stacks_.plan(input, values);
  if (!stack) return stack.error();
  for (const KnownCommand& known : kKnown) {
    const config::NamedCommand* command = input.config.find_command(known.name);
    if (command == nullptr) continue;
    out.push_back({kind(), known.name, write_parameters(parameters_of(known, *command, input, *variables, *stack))});
  }
  return out;
}

Result<std::unique_ptr<Resource>> CommandKind::make(const ResourceSpec& spec, const WorktreeRecord& record) const {
  auto parsed = spec_from(spec, record);
  if (!parsed) return parsed.error();
  return std::unique_ptr<Resource>(std::make_unique<ProjectCommand>(std::move(*parsed), environment_, runner_, stacks_));
}

}  // namespace hedge::worktree
