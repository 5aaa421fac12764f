#include "worktree/stack/compose_tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Answers by the beginning of the command line, and remembers what it was asked.
class ScriptedRunner final : public CommandRunner {
 public:
  Result<CommandOutput> run(const CommandLine& command) override {
    commands.push_back(command);
    const std::string line = join(command.argv, " ");
    for (const auto& [start, answer] : answers) {
      if (line.starts_with(start)) return answer;
    }
    return Error(ErrorKind::not_found, "no program " + command.argv.front());
  }
  std::vector<std::pair<std::string, CommandOutput>> answers;
  std::vector<CommandLine> commands;
};

const Environment kShell{
    {"PATH", "/usr/bin"}, {"COMPOSE_PROJECT_NAME", "main"}, {"DOCKER_HOST", "unix:///run/d.sock"}};

TEST(ComposeVersion, K02_is_read_out_of_what_both_generations_print) {
  EXPECT_EQ(parse_compose_version("1.29.2\n").value(), (ComposeVersion{1, 29, 2}));
  EXPECT_EQ(parse_compose_version("v2.26.1-ds1\n").value(), (ComposeVersion{2, 26, 1}));
  EXPECT_EQ(parse_compose_version("2.26.1-4").value(), (ComposeVersion{2, 26, 1}));
  EXPECT_EQ(parse_compose_version("WARN[0000] the attribute version is obsolete\n2.31.0\n").value(),
            (ComposeVersion{2, 31, 0}));
  EXPECT_EQ(parse_compose_version("2.5").value(), (ComposeVersion{2, 5, 0}));
  EXPECT_FALSE(parse_compose_version(""));
  EXPECT_FALSE(parse_compose_version("docker: 'compose' is not a docker command."));
}

TEST(ComposeTool, prefers_the_plugin_and_falls_back_to_the_command) {
  ScriptedRunner runner;
  runner.answers = {{"docker compose version", {0, "2.26.1\n", "", false}},
                    {"docker-compose version", {0, "1.29.2\n", "", false}}};
  EXPECT_EQ(ComposeTool::detect(runner, kShell)->version().major, 2);
  runner.answers.front().second = {1, "", "docker: 'compose' is not a docker command.\n", false};
  const auto tool = ComposeTool::detect(runner, kShell);
  EXPECT_EQ(tool->version().major, 1);
  EXPECT_EQ(tool->command({"p", "/wt", {"/s/c.json"}}, {"config"}).argv.front(), "docker-compose");
}

TEST(ComposeTool, K05_absent_and_too_old_have_ids_of_their_own) {
  ScriptedRunner runner;
  EXPECT_EQ(ComposeTool::detect(runner, kShell).error().id(), "compose_not_installed");
  runner.answers = {{"docker-compose version", {0, "1.25.0\n", "", false}}};
  const auto tool = ComposeTool::detect(runner, kShell);
  ASSERT_FALSE(tool);
  EXPECT_EQ(tool.error().id(), "compose_too_old");
  EXPECT_THAT(tool.error().text(), HasSubstr("1.29.0 is needed"));
}

TEST(ComposeTool, K09_a_plugin_that_fails_is_neither_missing_nor_replaced_by_the_other_generation) {
  ScriptedRunner runner;
  runner.answers = {{"docker compose version", {1, "", "the disk is on fire\n", false}},
                    {"docker info --format", {1, "[{\"Name\":\"buildx\"},{\"Name\":\"compose\"}]\n", "no engine", false}},
                    {"docker-compose version", {0, "1.29.2\n", "", false}}};
  const auto tool = ComposeTool::detect(runner, kShell);
  ASSERT_FALSE(tool);
  EXPECT_EQ(tool.error().id(), "compose_failed");
  EXPECT_THAT(tool.error().text(), HasSubstr("the disk is on fire"));
}

TEST(ComposeTool, K09_a_docker_without_the_plugin_says_so_in_its_list) {
  ScriptedRunner runner;
  for (const char* list : {"null\n", "[]\n", "[{\"Name\":\"buildx\"}]\n"}) {
    runner.answers = {{"docker compose version", {125, "", "unknown flag: --short\n", false}},
                      {"docker info --format", {0, list, "", false}}};
    EXPECT_EQ(ComposeTool::detect(runner, kShell).error().id(), "compose_not_installed") << list;
  }
}

TEST(ComposeTool, K09_whatever_fails_keeps_its_words) {
  ScriptedRunner runner;
  runner.answers = {{"docker-compose version", {1, "", "the disk is on fire\n", false}}};
  const auto failing = ComposeTool::detect(runner, kShell);
  EXPECT_EQ(failing.error().id(), "compose_failed");
  EXPECT_THAT(failing.error().text(), HasSubstr("the disk is on fire"));
  runner.answers = {{"docker compose version", {1, "", "the disk is on fire\n", false}}};
  EXPECT_EQ(ComposeTool::detect(runner, kShell).error().id(), "compose_failed") << "its list cannot be had either";
  runner.answers = {{"docker compose version", {0, "2.26.1\n", "", false}},
                    {"docker compose -p", {1, "", "the disk is on fire\n", false}}};
  const auto said = ComposeTool::detect(runner, kShell)->run({"p", "/wt", {"/s/a.yml"}}, {"up"}, std::chrono::seconds(1));
  EXPECT_EQ(said.error().id(), "compose_failed");
  EXPECT_THAT(said.error().text(), HasSubstr("the disk is on fire"));
}

TEST(ComposeTool, W01_every_call_names_project_directory_and_files_and_inherits_none) {
  ScriptedRunner runner;
  runner.answers = {{"docker compose version", {0, "2.26.1\n", "", false}},
                    {"docker compose -p", {0, "done", "", false}}};
  const auto tool = ComposeTool::detect(runner, kShell);
  const auto said =
      tool->run({"shop-alpha", "/wt", {"/s/a.yml", "/s/b.yml"}}, {"up", "-d"}, std::chrono::seconds(1));
  EXPECT_EQ(said.value(), "done");
  const CommandLine& command = runner.commands.back();
  EXPECT_EQ(command.argv,
            (std::vector<std::string>{"docker", "compose", "-p", "shop-alpha", "--project-directory", "/wt",
                                      "-f", "/s/a.yml", "-f", "/s/b.yml", "up", "-d"}));
  EXPECT_EQ(command.limit, std::chrono::seconds(1));
  EXPECT_THAT(*command.environment,
              Contains(std::pair<const std::string, std::string>("DOCKER_HOST", "unix:///run/d.sock")));
  EXPECT_FALSE(command.environment->contains("COMPOSE_PROJECT_NAME"));
}

TEST(ComposeTool, K09_a_failing_call_tells_the_end_of_what_it_said) {
  ScriptedRunner runner;
  runner.answers = {
      {"docker compose version", {0, "2.26.1\n", "", false}},
      {"docker compose -p", {17, "", "progress\nyaml: line 3: mapping values are not allowed\n", false}}};
  const auto said =
      ComposeTool::detect(runner, kShell)->run({"p", "/wt", {"/c"}}, {"config"}, std::chrono::seconds(1));
  ASSERT_FALSE(said);
  EXPECT_THAT(said.error().text(), HasSubstr("exited with 17"));
  EXPECT_THAT(said.error().text(), HasSubstr("mapping values are not allowed"));
}

TEST(ComposeFiles, are_the_configured_ones_or_the_first_default_with_its_override) {
  const test::TemporaryDirectory checkout;
  const auto touch = [&](const std::string& name) {
    ASSERT_TRUE(write_file_atomically(checkout / name, "", 0644));
  };
  EXPECT_EQ(find_compose_files(checkout.path(), {}).error().id(), "compose_file_missing");
  touch("docker-compose.yml");
  touch("docker-compose.override.yml");
  EXPECT_EQ(find_compose_files(checkout.path(), {}).value(),
            (std::vector<std::filesystem::path>{checkout / "docker-compose.yml",
                                                checkout / "docker-compose.override.yml"}));
  touch("compose.yaml");
  EXPECT_EQ(find_compose_files(checkout.path(), {}).value(),
            (std::vector<std::filesystem::path>{checkout / "compose.yaml"}));
  EXPECT_EQ(find_compose_files(checkout.path(), {"compose.yaml", "docker-compose.yml"})->size(), 2U);
  EXPECT_EQ(find_compose_files(checkout.path(), {"absent.yml"}).error().id(), "compose_file_missing");
}

}  // namespace
}  // namespace hedge::worktree
