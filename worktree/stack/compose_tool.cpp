#include "worktree/stack/compose_tool.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "worktree/stack/child_environment.h"

namespace hedge::worktree {
namespace {

constexpr ComposeVersion kOldestV1{1, 29, 0};
constexpr ComposeVersion kOldestV2{2, 0, 0};
constexpr auto kVersionLimit = std::chrono::seconds(20);  // the Python generation starts slowly

std::optional<ComposeVersion> parse_line(std::string_view line) {
  line = trim(line);
  if (line.starts_with('v')) line.remove_prefix(1);
  const auto parts = split(line.substr(0, line.find_first_not_of("0123456789.")), '.');
  if (parts.size() < 2) return std::nullopt;
  const auto major = parse_number<int>(parts[0]);
  const auto minor = parse_number<int>(parts[1]);
  const auto patch = parts.size() > 2 ? parse_number<int>(parts[2]) : 0;
  if (!major || !minor) return std::nullopt;
  return ComposeVersion{*major, *minor, patch.value_or(0)};
}

std::string to_string(const ComposeVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

bool is_too_old(const ComposeVersion& version) {
  return version < (version.major < 2 ? kOldestV1 : kOldestV2);
}

constexpr std::size_t kLastLines = 8;

Error compose_failed(const std::string& what, const CommandOutput& output) {
  const std::string& said = output.err.empty() ? output.out : output.err;
  return Error(ErrorKind::io, what + " exited with " + std::to_string(output.exit_code) + ": " +
                                  tail_of(said, kLastLines))
      .with_id("compose_failed");
}

// A docker without the plugin fails at the plugin's verbs as well; its own list tells the two apart. Printed also where
// no engine answers. Absent: it did not say.
std::optional<bool> has_plugin(CommandRunner& runner, const Environment& environment) {
  CommandLine command;
  command.argv = {"docker", "info", "--format", "{{json .ClientInfo.Plugins}}"};
  command.environment = environment;
  command.limit = kVersionLimit;
  const auto output = runner.run(command);
  if (!output) return std::nullopt;
  const auto plugins = nlohmann::json::parse(output->out, nullptr, false);
  if (plugins.is_null()) return false;
  if (!plugins.is_array()) return std::nullopt;
  return std::ranges::any_of(
      plugins, [](const nlohmann::json& plugin) { return plugin.is_object() && plugin.value("Name", "") == "compose"; });
}

// Absent: there is no such program. Errors: it is there, and does not say which version it is.
Result<std::optional<ComposeVersion>> ask_version(CommandRunner& runner, const Environment& environment,
                                                  const std::vector<std::string>& program) {
  CommandLine command;
  command.argv = program;
  command.argv.insert(command.argv.end(), {"version", "--short"});
  command.environment = environment;
  command.limit = kVersionLimit;
  const auto output = runner.run(command);
  if (!output && output.error().kind() == ErrorKind::not_found) return std::optional<ComposeVersion>();
  if (!output) return output.error();
  if (!output->ok()) return compose_failed(join(command.argv, " "), *output);
  auto version = parse_compose_version(output->out);
  if (!version) return version.error();
  return std::optional<ComposeVersion>(*version);
}

Error too_old(const std::vector<std::string>& program, const ComposeVersion& version) {
  return Error(ErrorKind::unsupported, join(program, " ") + " is version " + to_string(version) + "; " +
                                           to_string(version.major < 2 ? kOldestV1 : kOldestV2) + " is needed")
      .with_id("compose_too_old");
}

}  // namespace

Result<ComposeVersion> parse_compose_version(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    if (const auto version = parse_line(line)) return *version;
  }
  return Error(ErrorKind::unsupported, "not a version of Compose: " + printable(text))
      .with_id("compose_too_old");
}

ComposeTool::ComposeTool(CommandRunner& runner, Environment environment, std::vector<std::string> program,
                         ComposeVersion version)
    : runner_(&runner),
      environment_(std::move(environment)),
      program_(std::move(program)),
      version_(version) {}

Result<ComposeTool> ComposeTool::detect(CommandRunner& runner, const Environment& environment) {
  const Environment scrubbed = environment_for_compose(environment);
  const std::vector<std::string> plugin{"docker", "compose"};
  std::optional<Error> reason;
  for (const std::vector<std::string>& program : {plugin, {"docker-compose"}}) {
    const auto version = ask_version(runner, scrubbed, program);
    if (version && !version->has_value()) continue;
    if (version && !is_too_old(**version)) return ComposeTool(runner, scrubbed, program, **version);
    Error problem = version ? too_old(program, **version) : version.error();
    if (!version && program == plugin) {
      const auto is_there = has_plugin(runner, scrubbed);
      // The other generation names containers differently: it is no substitute for one that failed.
      if (is_there == true) return problem;
      if (is_there == false) continue;
    }
    reason = std::move(problem);
  }
  if (reason) return *reason;
  return Error(ErrorKind::not_found, "neither docker compose nor docker-compose is installed")
      .with_id("compose_not_installed");
}

CommandLine ComposeTool::command(const ComposeProject& project, const std::vector<std::string>& verb) const {
  CommandLine command;
  command.argv = program_;
  if (!project.name.empty()) command.argv.insert(command.argv.end(), {"-p", project.name});
  command.argv.insert(command.argv.end(), {"--project-directory", project.directory.string()});
  for (const auto& file : project.files) command.argv.insert(command.argv.end(), {"-f", file.string()});
  command.argv.insert(command.argv.end(), verb.begin(), verb.end());
  command.directory = project.directory;
  command.environment = environment_;
  return command;
}

Result<std::string> ComposeTool::run(const ComposeProject& project, const std::vector<std::string>& verb,
                                     std::chrono::milliseconds limit) const {
  CommandLine line = command(project, verb);
  line.limit = limit;
  auto output = runner_->run(line);
  if (!output) return std::move(output).error().with_context("compose " + verb.front());
  if (output->ok()) return std::move(output->out);
  return compose_failed("compose " + verb.front(), *output);
}

Result<std::vector<std::filesystem::path>> find_compose_files(const std::filesystem::path& checkout,
                                                              const std::vector<std::string>& configured) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : configured) {
    files.push_back(checkout / name);
    if (!path_exists(files.back())) {
      return Error(ErrorKind::not_found, "no compose file " + files.back().string())
          .with_id("compose_file_missing");
    }
  }
  if (!files.empty()) return files;
  for (const std::string stem : {"compose", "docker-compose"}) {
    for (const std::string extension : {".yaml", ".yml"}) {
      if (!path_exists(checkout / (stem + extension))) continue;
      files.push_back(checkout / (stem + extension));
      for (const std::string other : {".override.yaml", ".override.yml"}) {
        if (path_exists(checkout / (stem + other))) {
          files.push_back(checkout / (stem + other));
          break;
        }
      }
      return files;
    }
  }
  return Error(ErrorKind::not_found, "no compose file in " + checkout.string())
      .with_id("compose_file_missing");
}

}  // namespace hedge::worktree
