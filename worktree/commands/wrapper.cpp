#include "worktree/commands/wrapper.h"

#include "worktree/resource_kind.h"
#include "worktree/stack/child_environment.h"
#include "worktree/stack/compose_tool.h"

namespace hedge::worktree {

Environment expand_variables(const Variables& variables, const WorktreeRecord& record) {
  Environment out;
  for (const auto& [name, value] : variables) out[name] = expand_secrets(value, record);
  return out;
}

Result<CommandLine> Wrapper::command_line(const WrapperPlace& place, const std::vector<std::string>& argv,
                                          Terminal terminal) const {
  if (argv.empty()) return Error(ErrorKind::invalid_input, "an empty command").with_id("usage_error");
  if (!place.service) {
    CommandLine command;
    command.argv = argv;
    command.directory = place.directory;
    command.environment = environment_for_process(environment_, place.variables);
    return command;
  }
  auto tool = ComposeTool::detect(runner_, environment_for_compose(environment_));
  if (!tool) return tool.error();
  std::vector<std::string> verb{"exec"};
  if (terminal == Terminal::none) verb.emplace_back("-T");
  // The container has its environment from its own configuration: passing ours on the command line would show secrets in
  // the process list.
  verb.push_back(place.service->service);
  verb.insert(verb.end(), argv.begin(), argv.end());
  return tool->command({place.service->project, place.service->project_directory, {place.service->compose_file}}, verb);
}

Result<CommandOutput> Wrapper::run(const WrapperPlace& place, const std::vector<std::string>& argv,
                                   std::chrono::milliseconds limit) const {
  auto command = command_line(place, argv, Terminal::none);
  if (!command) return command.error();
  command->limit = limit;
  return runner_.run(*command);
}

}  // namespace hedge::worktree
