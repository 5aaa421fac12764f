#include "cli/project_survey.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "config/project_config.h"
#include "tests/support/temporary_directory.h"

namespace hedge::cli {
namespace {

class Survey : public testing::Test {
 protected:
  void file(const std::string& name, std::string_view text) {
    ASSERT_TRUE(write_file_atomically(directory_ / name, text, 0644));
  }
  // What `hedge init` would write must be a configuration that loads.
  config::ProjectConfig started() {
    const auto config = config::parse_project_config(starting_config(survey_project(directory_.path())));
    EXPECT_TRUE(config) << config.error().to_string();
    return config ? *config : config::ProjectConfig{};
  }
  test::TemporaryDirectory directory_;
};

TEST_F(Survey, AnEmptyRepositoryGetsAConfigurationThatLoads) {
  const auto config = started();
  EXPECT_EQ(config.stack.runtime, config::StackRuntime::none);
  EXPECT_FALSE(config.app.name.empty());
}

TEST_F(Survey, ComposeServicesAndTheirPortsAreFound) {
  file("compose.yml",
       "services:\n  app:\n    ports: ['127.0.0.1:8080:80/tcp']\n  worker:\n    image: x\n  api:\n    ports:\n      - target: 3000\n"
       "  side:\n    expose: [9000]\n");
  const auto config = started();
  EXPECT_EQ(config.stack.runtime, config::StackRuntime::compose);
  EXPECT_EQ(config.stack.compose, std::vector<std::string>{"compose.yml"});
  ASSERT_EQ(config.stack.services.size(), 4U);
  EXPECT_EQ(config.stack.services[0].port, 80);
  EXPECT_EQ(config.stack.services[1].port, 0);
  EXPECT_EQ(config.stack.services[2].port, 3000);
  EXPECT_EQ(config.stack.services[3].port, 9000);
}

TEST_F(Survey, ADevScriptBecomesAProcess) {
  file("package.json", R"({"scripts": {"start": "x", "dev": "vite"}})");
  file("package-lock.json", "{}");
  const auto config = started();
  ASSERT_EQ(config.stack.processes.size(), 1U);
  EXPECT_EQ(config.stack.processes[0].command, (config::Argv{"npm", "run", "dev"}));
  EXPECT_EQ(config.find_command("install")->argv, (config::Argv{"npm", "ci"}));
}

TEST_F(Survey, TheLockfileTellsThePackageManager) {
  file("package.json", R"({"scripts": {"start": "x"}})");
  file("pnpm-lock.yaml", "");
  const auto config = started();
  EXPECT_EQ(config.stack.processes.at(0).command, (config::Argv{"pnpm", "run", "start"}));
}

TEST_F(Survey, FilesThatCannotBeReadAreAsIfAbsent) {
  file("compose.yml", "services: [\n");
  file("package.json", "{ not json");
  const auto config = started();
  EXPECT_EQ(config.stack.runtime, config::StackRuntime::compose);
  EXPECT_TRUE(config.stack.services.empty());
}

TEST(SurveyedName, IsAlwaysOneThatTheConfigurationAccepts) {
  const test::TemporaryDirectory parent;
  for (const char* name : {"My Shop!", "--", "ÄÖ", "a-very-long-name-of-a-repository", "UPPER_case", "x--y", "9lives"}) {
    ASSERT_TRUE(ensure_directory(parent / name));
    const auto config = config::parse_project_config(starting_config(survey_project(parent / name)));
    EXPECT_TRUE(config) << name << ": " << config.error().to_string();
  }
}

}  // namespace
}  // namespace hedge::cli
