#include "contract/wrapper_place.h"

#include <algorithm>

#include "worktree/commands/wrapper.h"
#include "worktree/env_file.h"

namespace hedge::contract {
namespace {

std::string default_service(const config::ProjectConfig& config) {
  for (const config::ServiceConfig& service : config.stack.services) {
    if (service.port != 0) return service.name;
  }
  return {};
}

}  // namespace

Result<worktree::WrapperPlace> host_place(const Instruments& tools, const Subject& subject) {
  const worktree::PlanInput input{subject.record, subject.names, subject.config, tools.paths, subject.observed};
  auto variables = worktree::plan_variables(input, subject.plan.values);
  if (!variables) return variables.error();
  worktree::WrapperPlace place;
  place.directory = subject.record.path;
  place.variables = worktree::expand_variables(*variables, subject.record);
  place.withheld = subject.config.database.admin_url_variable;
  return place;
}

Result<worktree::WrapperPlace> wrapper_place(const Instruments& tools, const Subject& subject,
                                             const std::optional<std::string>& service) {
  auto place = host_place(tools, subject);
  if (!place) return place;
  if (subject.config.stack.runtime != config::StackRuntime::compose) {
    if (!service) return place;
    return Error(ErrorKind::invalid_input, "there is no container " + *service + ": the runtime is not \"compose\"")
        .with_id("service_unknown");
  }
  const std::string name = service.value_or(default_service(subject.config));
  if (name.empty()) return place;
  const auto stack = std::find_if(subject.plan.steps.begin(), subject.plan.steps.end(),
                                  [](const worktree::ResourceSpec& step) { return step.kind == "stack"; });
  if (stack == subject.plan.steps.end()) {
    return Error(ErrorKind::refused, "the worktree was made without a stack").with_id("stack_stopped");
  }
  place->service = worktree::ServicePlace{*stack, subject.record, name};
  return place;
}

}  // namespace hedge::contract
