#include "worktree/git/git.h"

#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "worktree/git/git_environment.h"

namespace hedge::worktree {
namespace {

// The reason with which git locks a worktree that it is making is a translated text, the only one that we
// compare. Everything else of the locale stays, for the hooks.
void use_untranslated_messages(Environment& environment) {
  if (const auto all = environment.find("LC_ALL"); all != environment.end()) {
    environment["LANG"] = all->second;
    environment.erase(all);
  }
  environment.erase("LANGUAGE");
  environment["LC_MESSAGES"] = "C";
}

}  // namespace

Git::Git(CommandRunner& runner, Environment environment)
    : runner_(runner), environment_(without_repository_variables(std::move(environment))) {
  use_untranslated_messages(environment_);
  environment_["GIT_TERMINAL_PROMPT"] = "0";
  // Looking must not take the index lock from somebody who works in the checkout.
  environment_["GIT_OPTIONAL_LOCKS"] = "0";
}

Result<CommandOutput> Git::run(const std::filesystem::path& directory, std::vector<std::string> arguments) {
  return run_with(directory, std::move(arguments), Extras{});
}

Result<CommandOutput> Git::run_with(const std::filesystem::path& directory,
                                    std::vector<std::string> arguments, const Extras& extras) {
  if (!path_exists(directory)) {
    return Error(ErrorKind::not_found, "there is no directory " + directory.string()).with_id("path_missing");
  }
  CommandLine command;
  command.argv = {"git", "-C", directory.string()};
  command.argv.insert(command.argv.end(), std::make_move_iterator(arguments.begin()),
                      std::make_move_iterator(arguments.end()));
  command.environment = environment_;
  for (const auto& [name, value] : extras.variables) (*command.environment)[name] = value;
  command.input = extras.input;
  command.inherited = extras.inherited;
  command.limit = extras.limit;
  command.max_output_bytes = extras.max_output_bytes;
  auto output = runner_.run(command);
  if (!output && output.error().kind() == ErrorKind::not_found) {
    return std::move(output).error().with_id("git_unavailable");
  }
  return output;
}

Result<std::string> Git::output(const std::filesystem::path& directory, std::vector<std::string> arguments) {
  auto output = run(directory, arguments);
  if (!output) return output.error();
  if (!output->ok()) return git_error(arguments, *output);
  if (output->truncated)
    return Error(ErrorKind::io, "git " + join(arguments, " ") + " said more than can be held");
  return std::move(output->out);
}

Result<std::string> Git::line(const std::filesystem::path& directory, std::vector<std::string> arguments) {
  auto text = output(directory, std::move(arguments));
  if (!text) return text;
  return text->substr(0, text->find('\n'));
}

Error git_error(const std::vector<std::string>& arguments, const CommandOutput& output) {
  const std::string said = tail_of(output.err.empty() ? output.out : output.err);
  return Error(ErrorKind::io, "git " + join(arguments, " ") + " failed with exit code " +
                                  std::to_string(output.exit_code) + ": " + said)
      .with_id("git_failed");
}

}  // namespace hedge::worktree
