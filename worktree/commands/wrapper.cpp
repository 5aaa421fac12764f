#include "worktree/commands/wrapper.h"

#include "worktree/stack/child_environment.h"
#include "worktree/stack/compose_stack.h"

namespace hedge::worktree {

Environment expand_variables(const PlannedVariables& variables, const WorktreeRecord& record) {
  Environment out;
  for (const auto& [name, value] : variables) out[name] = value.reveal(record);
  return out;
}

Result<CommandLine> Wrapper::command_line(const WrapperPlace& place, const std::vector<std::string>& argv,
                                          Terminal terminal) const {
  if (argv.empty()) return Error(ErrorKind::invalid_input, "an empty command").with_id("usage_error");
  if (!place.service) {
    CommandLine command;
    command.argv = argv;
    command.directory = place.directory;
    command.environment = environment_for_process(environment_, place.variables, place.withheld);
    return command;
  }
  auto resource = stacks_.make(place.service->stack, place.service->record);
  if (!resource) return resource.error();
  const auto* containers = dynamic_cast<const ComposeStack*>(resource->get());
  if (containers == nullptr) {
    return Error(ErrorKind::invalid_input, "the worktree has no containers").with_id("service_unknown");
  }
  // The container has its environment from its own configuration: passing ours on the command line would show secrets in
  // the process list.
  return containers->command_in(place.service->service, argv,
                                terminal == Terminal::none ? Interaction::none : Interaction::terminal);
}

Result<CommandOutput> Wrapper::run(const WrapperPlace& place, const std::vector<std::string>& argv,
                                   std::chrono::milliseconds limit) const {
  auto command = command_line(place, argv, Terminal::none);
  if (!command) return command.error();
  command->limit = limit;
  return runner_.run(*command);
}

}  // namespace hedge::worktree
