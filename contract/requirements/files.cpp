// What was put into the checkout: seeded files and the environment, in the file and in the running application.
#include <algorithm>

#include "base/text.h"
#include "contract/requirements/process_environment.h"
#include "contract/requirements/requirements.h"
#include "worktree/commands/wrapper.h"
#include "worktree/env_file.h"
#include "worktree/stack/stack.h"

namespace hedge::contract {
namespace {

CheckOutcome check_kind(const CheckContext& context, std::string_view kind, std::string_view missing_id,
                        const std::string& why_none) {
  const auto found = resources_of(context.observations, kind);
  if (found.empty()) return CheckOutcome::skip(why_none);
  std::string detail;
  for (const ObservedResource* resource : found) {
    CheckOutcome outcome = outcome_of(*resource, missing_id);
    if (outcome.status != CheckStatus::pass) return outcome;
    if (outcome.detail) detail = *outcome.detail;
  }
  return CheckOutcome::pass(detail);
}

// What a running service was started with; absent: it cannot be told.
using ServiceEnvironment = std::pair<std::string, std::optional<Environment>>;

std::optional<Environment> environment_of(const worktree::ServiceStatus& service) {
  if (service.environment) return service.environment;
  const auto process = parse_number<pid_t>(service.instance);
  return process ? load_process_environment(*process) : std::nullopt;
}

Result<std::vector<ServiceEnvironment>> running_environments(const CheckContext& context) {
  std::vector<ServiceEnvironment> out;
  for (const ObservedResource* observed : resources_of(context.observations, "stack")) {
    auto resource = context.tools.kinds.make(observed->spec, context.subject.record);
    if (!resource) return resource.error();
    auto* stack = dynamic_cast<worktree::Stack*>(resource->get());
    if (stack == nullptr) continue;
    const auto services = stack->load_status();
    if (!services) return services.error();
    for (const worktree::ServiceStatus& service : *services) {
      if (service.state == worktree::ServiceState::running) out.emplace_back(service.name, environment_of(service));
    }
  }
  return out;
}

CheckOutcome not_compared(const std::string& why) {
  return CheckOutcome::unknown(Error(ErrorKind::unavailable, why).with_id("env_not_effective"));
}

CheckOutcome compare_environment(const CheckContext& context) {
  const bool has_containers = context.subject.config.stack.runtime == config::StackRuntime::compose;
  if (has_containers && context.subject.record.kind == worktree::WorktreeKind::main) {
    return CheckOutcome::skip("main's containers have what the repository's compose file gives them");
  }
  const worktree::PlanInput input{context.subject.record, context.subject.names, context.subject.config, context.tools.paths,
                                  context.subject.observed};
  auto variables = worktree::plan_variables(input, context.subject.plan.values);
  if (!variables) return CheckOutcome::unknown(variables.error());
  const Environment wanted = worktree::expand_variables(*variables, context.subject.record);
  if (resources_of(context.observations, "stack").empty()) return CheckOutcome::skip("the worktree was made without a stack");
  const auto services = running_environments(context);
  if (!services) return CheckOutcome::unknown(services.error());
  // A branch may need none of them.
  if (services->empty() && has_containers) return CheckOutcome::skip("no container of the application runs");
  if (services->empty()) return not_compared("no service runs whose environment could be compared");
  for (const auto& [name, actual] : *services) {
    if (!actual) return not_compared("the environment of service " + name + " cannot be read");
    for (const auto& [variable, value] : wanted) {
      const auto found = actual->find(variable);
      if (found != actual->end() && found->second == value) continue;
      // Values may be secrets: only the variable is named.
      CheckOutcome outcome = CheckOutcome::fail(
          Error(ErrorKind::conflict, "service " + name + " runs with another value of " + variable).with_id("env_not_effective"));
      outcome.can_be_made = true;
      return outcome;
    }
  }
  return CheckOutcome::pass();
}

}  // namespace

void add_file_requirements(const CheckContext& context, std::vector<Requirement>& out) {
  out.push_back({"seed.files", "ignored files of the main checkout were copied", Severity::optional, {"git.checkout"},
                 [&context] { return check_kind(context, "seed", "seed_incomplete", "there is nothing to copy"); }});
  out.push_back({"env.file", "the environment file is as it should be", Severity::required, {"git.checkout"},
                 [&context] { return check_kind(context, "env", "env_missing", "hedge.toml wants no environment file"); }});
  out.push_back({"env.effective", "the running application has the worktree's environment", Severity::required,
                 {"stack.running"}, [&context] { return compare_environment(context); }});
}

}  // namespace hedge::contract
